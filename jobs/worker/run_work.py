"""Runs a claimed job's command, and finds out what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from django.db.models.functions import Now

from console.base.timeouts import timing
from jobs.commands.base import Drift
from jobs.commands.registry import reread, shortfall
from jobs.domain.engine import UNCHECKED, Checked, Engine
from jobs.domain.errors import (
    CommandRefused,
    DirectorySwapped,
    EngineCancelled,
    EngineFailed,
    EngineFailure,
    EngineLost,
    LeveeError,
)
from jobs.domain.results import Result, failed_afterwards, with_warnings
from jobs.domain.states import Cause, State
from jobs.lifecycle import endings
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.lifecycle.transitions import Fenced, move, note, release
from jobs.models import Attempt, Job
from jobs.schedules import refusals
from jobs.targets import places
from jobs.worker.claimed_job import ClaimedJob
from jobs.worker.claims import Claim
from jobs.worker.supervision import Watch
from tables.rules.locations import LocationError


class DriftDetected(LeveeError):
    """The table has changed since the preview; the run hasn't started."""

    def __init__(self, drift: Drift) -> None:
        super().__init__(drift.why)
        self.drift = drift


class RunWork(ClaimedJob):
    """Runs the command and records its true outcome, whatever happens. Keeps the lease until that is done."""

    def __init__(self, claim: Claim, engine: Engine, stop: threading.Event, end_hard: Callable[[], None]) -> None:
        super().__init__(claim, engine, stop, end_hard)
        self.checked = UNCHECKED
        self.failure: EngineFailure | None = None
        self.run_limit = refusals.run_limit(self.job, timing().run_limit)

    def work(self) -> None:
        reached(FaultPoint.CLAIMED)
        reached(FaultPoint.LOCK_TAKEN)
        with self._watch(self.run_limit) as watch:
            # Approvals are given to the digest: a row that no longer yields it isn't the approved request.
            if digest_of(self.job) != self.job.digest:
                self._end(State.STALE, error=endings.DIGEST_CHANGED)
                return
            try:
                result = self._engine_run(watch)
            except DriftDetected as moved:
                self._unless_committed_before(partial(self._end, State.STALE, error=endings.moved(moved.drift.why)))
            except CommandRefused as refused:
                self._refused(refused)
            except DirectorySwapped as swapped:
                self._end(State.STALE, error=endings.swapped(self.job, swapped))
            except endings.LogUnreadable as error:
                self._unknown(str(error))
            except EngineLost as lost:
                self._unknown(f"The JVM was lost ({_first_line(lost)}).")
            except EngineCancelled:
                self._by_history(partial(self._stopped, watch))
            except EngineFailed as failed:
                self.failure = failed.failure
                self._by_history(partial(self._failed, watch, failed), failed.failure)
            else:
                reached(FaultPoint.COMMIT_VISIBLE)
                self._ran(result)

    def _engine_run(self, watch: Watch) -> Result:
        # Roots and links may have changed since the request: the path must still be inside a root when the run starts.
        places.check_claimed(self.job.location)
        if Attempt.may_have_committed(self.job) and (before := self._found()) is not None:
            return before
        with watch.engine_runs():
            checked = self._checked()
            self._look_at_files()
            refusals.check_before_run(self.job, lambda: self.handling.preview(self.job, self._measured).preview)
            return self.engine.run(self.command, self.job.preview or {}, checked, self.marks, self.report)

    def _tell_gone(self, refused: CommandRefused) -> None:
        """Files of a version that went since its preview: the refusal names one."""
        version = self.job.parameters.get("version")
        paths = [each.place for each in refused.refusals if each.code == "version_gone" and each.place]
        if paths and isinstance(version, int):
            self._tell_missing(version, paths)

    def _checked(self) -> Checked:
        """Checks for drift and records the answer before the run. Raises DriftDetected."""
        drift = self.handling.drift(self.job, self._measured)
        if drift is None:
            return UNCHECKED
        self.checked = drift.checked
        self.job.drift = drift.as_json()
        mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token)
        self._recorded(lambda: mine.update(drift=self.job.drift, drift_at=Now()))
        reached(FaultPoint.VERSION_CHECKED)
        if drift.moved:
            raise DriftDetected(drift)
        return drift.checked

    def tell_lost_claim(self) -> None:
        """Says how an attempt ended that was given up without proof: its claim is another's by now, so that it ends nothing else."""
        mine = Attempt.objects.filter(pk=self.claim.attempt_id, outcome=Attempt.UNPROVEN)
        if not mine.update(outcome=Attempt.CAME_BACK):
            return
        why = f" Spark ended it with {self.failure.condition}." if self.failure and self.failure.condition else ""
        text = f"{self.who} came back after Levee had given this attempt up.{why} The job no longer follows it."
        note(self.job, self.who, "note", text)

    def broken(self, error: Exception) -> None:
        try:
            result = self._found()
        except endings.LogUnreadable as unreadable:
            self._unknown(str(unreadable))
            return
        if result is None:
            self._end(State.FAILED, error=endings.broken(self.job, self.who, error))
        else:
            self._committed_and_broken(endings.broken_afterwards(result, self.who, error))

    def _found(self) -> Result | None:
        """The job's commit, or the last of its commits, by the table's history. Raises Unreadable."""
        return endings.all_committed(self.job) if self.handling.several_commits else endings.committed(self.job)

    def _committed_and_broken(self, result: Result) -> None:
        self._sync()
        if self._fell_short(result):
            return
        text = str(result.details["text"])
        self._end(State.SUCCEEDED, text=text, result=result.as_json(), version=result.version)

    def _by_history(self, without_commit: Callable[[], None], failure: EngineFailure | None = None) -> None:
        """Records the outcome by the table's history, not the exception: Delta can fail or be cancelled after its commit (in a hook)."""
        try:
            result = self._found()
        except endings.LogUnreadable as error:
            self._unknown(str(error))
            return
        if result is None:
            without_commit()
        else:
            if failure is not None and not Attempt.may_have_committed(self.job):  # of another's commit it says nothing
                result = with_warnings(result, failed_afterwards(failure.message))
            self._succeeded(result)

    def _unless_committed_before(self, otherwise: Callable[[], None]) -> None:
        """An earlier attempt that nobody could end may have come back and committed in the meantime: then its commit is the outcome."""
        if Attempt.may_have_committed(self.job):
            self._by_history(otherwise)
        else:
            otherwise()

    def _ran(self, result: Result) -> None:
        """The engine's own result, which may be that there was nothing left to do."""
        if result.version is None:
            self._unless_committed_before(partial(self._succeeded, result))
        else:
            self._succeeded(result)

    def _refused(self, refused: CommandRefused) -> None:
        def end() -> None:
            self._tell_gone(refused)
            self._end(_refused_state(refused), error=endings.refused(refused.refusals))

        if refused.refusals[0].code == LocationError.code:  # what lies below no root any more isn't read either
            end()
        else:
            self._unless_committed_before(end)

    def _succeeded(self, result: Result) -> None:
        self.report.committed = result.version is not None
        self._sync()
        result = reread(self.job, endings.judged(self.job, result))
        if self._fell_short(result):
            return
        text = endings.success_text(result)
        self._end(State.SUCCEEDED, text=text, result=result.as_json(), version=result.version, no_op=result.no_op)

    def _fell_short(self, result: Result) -> bool:
        """Ends a job that made only some of its commits, as failed with the version that it got to."""
        error = shortfall(self.job, result)
        if error is not None:
            self._end(State.FAILED, error=dict(error), result=result.as_json(), version=result.version)
        return error is not None

    def _failed(self, watch: Watch, failed: EngineFailed) -> None:
        if watch.why_cancelled:
            self._stopped(watch)  # work that is stopped half-way may fail with any error
        elif self.checked.strict and (drift := self.handling.look(self.job)) is not None and drift.moved:
            self._end(State.STALE, error=endings.moved(drift.why))  # a strict job may not commit on a later version
        else:
            self._end(State.FAILED, error=endings.engine_failed(failed.failure, endings.NOTHING))

    def _stopped(self, watch: Watch) -> None:
        if watch.why_cancelled == "limit":
            self._end(State.FAILED, error=endings.limit_reached("a run", self.run_limit))
        elif watch.why_cancelled == "stop":
            self._release()
        elif watch.why_cancelled == "cancel":
            self._end(State.CANCELLED)
        elif watch.why_cancelled == "fenced":
            raise Fenced("the claim was lost while it ran")
        else:
            self._unknown("Spark's work was cancelled, but not by Levee.")

    def _release(self) -> None:
        """Gives the attempt back on a planned stop: Spark has ended the run and committed nothing."""
        text = "The worker is stopping and gave the job back. Nothing was committed; another worker will run it."
        self._recorded(lambda: release(self.job, Cause.WORKER, self.who, text, token=self.claim.token))

    def _unknown(self, why: str) -> None:
        """Kills the JVM if it isn't gone, and leaves it to the dispatcher to look for the commit. Always raises EngineLost."""
        # The JVM first: while it lives it could still commit after the dispatcher has looked.
        self.end_hard()
        text = f"{why} Looking for a commit of this job."

        def write() -> None:
            mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token)
            if not mine.filter(state=State.CANCELLING).update(lease_until=None):
                move(
                    self.job, State.RECONCILING, Cause.WORKER, self.who,
                    text=text, token=self.claim.token, lease_until=None,
                )  # fmt: skip

        self._unless_fenced(write)
        raise EngineLost(EngineFailure(None, None, why))

    def _unless_fenced(self, write: Callable[[], None]) -> None:
        """Writes before this process ends, which it must do even if another worker has the claim by now."""
        try:
            self._recorded(write)
        except Fenced as fenced:
            self.given_up(fenced)


def _refused_state(refused: CommandRefused) -> State:
    """STALE for a table that has moved, since the request itself isn't wrong; else FAILED."""
    return State.STALE if refused.refusals[0].code == "stale" else State.FAILED


def _first_line(failed: EngineFailed) -> str:
    return (failed.failure.message.splitlines() or ["no reason given"])[0][:200]
