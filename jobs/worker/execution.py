"""Works on one claim and records its outcome. The claim's token fences every write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from console.base.errors import Problem
from console.base.logs import log
from jobs.commands.base import Drift, Found
from jobs.commands.registry import command_from_json, handling_of, queue_of
from jobs.domain.engine import UNCHECKED, Checked, Engine, Marks
from jobs.domain.errors import (
    CommandRefused,
    DirectorySwapped,
    EngineCancelled,
    EngineFailed,
    EngineFailure,
    EngineLost,
    LeveeError,
)
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.domain.states import Cause, State
from jobs.lifecycle import endings, wakeups
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.fault_points import Point, reached
from jobs.lifecycle.timeouts import timing
from jobs.lifecycle.transitions import Fenced, move, release
from jobs.models import Attempt, Job
from jobs.policy import evaluate
from jobs.targets import places
from jobs.worker.border import border
from jobs.worker.claims import Claim
from jobs.worker.run_log import RunReport
from jobs.worker.supervision import Watch
from tables.sync import log_access

Lost = Callable[[], None]


class DriftDetected(LeveeError):
    """The table has changed since the preview; the run hasn't started."""

    def __init__(self, drift: Drift) -> None:
        super().__init__(drift.why)
        self.drift = drift


class Execution:
    """The work on one claim. `end_hard` kills the JVM and waits until it is gone."""

    def __init__(self, claim: Claim, engine: Engine, stop: threading.Event, end_hard: Lost) -> None:
        self.claim, self.engine, self.stop, self.end_hard = claim, engine, stop, end_hard
        self.job = claim.job
        self.who = Attempt.objects.values_list("worker", flat=True).get(pk=claim.attempt_id)
        self.command = command_from_json(self.job.command, self.job.schema_version, self.job.parameters)
        self.marks = Marks(job=str(self.job.pk), attempt=claim.number, digest=self.job.digest)
        self.handling = handling_of(self.job.command)
        self.checked = UNCHECKED
        self.report = RunReport()

    def _watch(self, limit: float) -> Watch:
        return Watch(self.claim, self.engine, self.report, self.marks.tag, limit, self.stop, self.end_hard, self.who)

    # --- previews -------------------------------------------------------------------------------------------------

    def preview(self) -> None:
        """Measures what the command would do, and moves the job to `queued`, `awaiting_approval`, or an end state."""
        with self._watch(timing().preview_limit) as watch:
            try:
                places.check_claimed(self.job.location)
                with watch.engine_runs():
                    outcome = self.handling.preview(self.job, self._measured)
            except CommandRefused as refused:
                self._end(State.FAILED, error=endings.refused(refused.refusals))
            except EngineLost:
                self._preview_lost(watch)
                raise
            except EngineCancelled:
                self._preview_cancelled(watch)
            except EngineFailed as failed:
                self._end(State.FAILED, error=endings.engine_failed(failed.failure, endings.NOTHING))
            else:
                self._previewed(outcome)

    def _preview_cancelled(self, watch: Watch) -> None:
        if watch.why_cancelled == "limit":
            self._preview_took_too_long()
        elif watch.why_cancelled == "stop":
            self._give_preview_back("released")

    def _preview_lost(self, watch: Watch) -> None:
        """The JVM is gone: another worker makes the preview again, unless it took this one too long."""
        self.end_hard()
        if watch.why_cancelled == "limit":
            with suppress(Fenced):  # the process must end even if another worker has the claim by now
                self._preview_took_too_long()
        else:
            self._give_preview_back("released" if watch.why_cancelled == "stop" else "lost")

    def _preview_took_too_long(self) -> None:
        """Stores the preview without Spark's measure; fails a command that has none without it."""
        limit = timing().preview_limit
        try:
            outcome = self.handling.unmeasured(self.job, limit)
        except CommandRefused as refused:
            self._end(State.FAILED, error=endings.refused(refused.refusals))
        else:
            if outcome is None:
                self._end(State.FAILED, error=endings.limit_reached("a preview", limit))
            else:
                self._previewed(outcome)

    def _give_preview_back(self, outcome: str) -> None:
        def write() -> None:
            with transaction.atomic():
                mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token, state=State.PREVIEWING)
                mine.update(lease_until=None)
                Attempt.objects.filter(pk=self.claim.attempt_id).update(ended_at=Now(), outcome=outcome)

        self._recorded(write)

    def _measured(self, version: int | None) -> Measure:
        return self.engine.preview(self.command, version, self.marks, self.report)

    def _previewed(self, outcome: Found) -> None:
        preview = dict(outcome.preview)
        if outcome.refusals:
            self._end(State.FAILED, preview=preview, error=endings.refused(outcome.refusals))
        elif outcome.nothing_to_do:
            result = Result(version=None, operation=None, no_op=True, details={"text": outcome.nothing_to_do})
            self._sync()
            self._end(State.SUCCEEDED, preview=preview, result=result.as_json(), no_op=True)
        else:
            self._queue(outcome)

    def _queue(self, outcome: Found) -> None:
        policy = evaluate.policy_of(self.job, outcome.preview)
        self.job.preview, self.job.policy = dict(outcome.preview), policy.as_json()
        self.job.base_version = outcome.base_version
        target = State.AWAITING_APPROVAL if policy.required_approvals else State.QUEUED

        def write() -> None:
            with transaction.atomic():
                move(
                    self.job, target, Cause.WORKER, self.who,
                    token=self.claim.token, release=True, attempt_outcome="measured",
                    preview=self.job.preview, policy=self.job.policy, base_version=self.job.base_version,
                    digest=digest_of(self.job), queued_at=Now(), progress={},
                )  # fmt: skip
                wakeups.wake_after_commit(queue_of(self.job.command))

        self._recorded(write)

    # --- runs -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs the command and records its true outcome, whatever happens. Keeps the lease until that is done."""
        reached(Point.CLAIMED)
        reached(Point.LOCK_TAKEN)
        with self._watch(timing().run_limit) as watch:
            # Approvals are given to the digest: a row that no longer yields it isn't the approved request.
            if digest_of(self.job) != self.job.digest:
                self._end(State.STALE, error=endings.DIGEST_CHANGED)
                return
            try:
                result = self._engine_run(watch)
            except DriftDetected as moved:
                self._end(State.STALE, error=endings.moved(moved.drift.why))
            except CommandRefused as refused:
                self._end(_refused_state(refused), error=endings.refused(refused.refusals))
            except DirectorySwapped as swapped:
                self._end(State.STALE, error=endings.swapped(self.job, swapped))
            except EngineLost as lost:
                self._unknown(f"The JVM was lost ({_first_line(lost)}).")
            except EngineCancelled:
                self._by_history(partial(self._stopped, watch))
            except EngineFailed as failed:
                self._by_history(partial(self._failed, watch, failed))
            else:
                reached(Point.COMMIT_VISIBLE)
                self._succeeded(result)

    def _engine_run(self, watch: Watch) -> Result:
        # Roots and links may have changed since the request: the path must still be inside a root when the run starts.
        places.check_claimed(self.job.location)
        with watch.engine_runs():
            checked = self._checked()
            return self.engine.run(self.command, self.job.preview or {}, checked, self.marks, self.report)

    def _checked(self) -> Checked:
        """Checks for drift and records the answer before the run. Raises DriftDetected."""
        drift = self.handling.drift(self.job, self._measured)
        if drift is None:
            return UNCHECKED
        self.checked = drift.checked
        self.job.drift = drift.as_json()
        mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token)
        self._recorded(lambda: mine.update(drift=self.job.drift, drift_at=Now()))
        reached(Point.VERSION_CHECKED)
        if drift.moved:
            raise DriftDetected(drift)
        return drift.checked

    def broken(self, error: Exception) -> None:
        """Ends the job after an unexpected error in Levee, with the error and the table's state."""
        if self.claim.kind == Attempt.Kind.PREVIEW:
            self._end(State.FAILED, error=endings.broken(self.job, self.who, error))
            return
        try:
            result = endings.committed(self.job)
        except endings.Unreadable as unreadable:
            self._unknown(str(unreadable))
            return
        if result is None:
            self._end(State.FAILED, error=endings.broken(self.job, self.who, error))
        else:
            self._committed_and_broken(endings.broken_afterwards(result, self.who, error))

    def _committed_and_broken(self, result: Result) -> None:
        self._sync()
        text = str(result.details["text"])
        self._end(State.SUCCEEDED, text=text, result=result.as_json(), version=result.version)

    def _by_history(self, without_commit: Callable[[], None]) -> None:
        """Records the outcome by the table's history, not the exception: Delta can fail or be cancelled after its commit (in a hook)."""
        try:
            result = endings.committed(self.job)
        except endings.Unreadable as error:
            self._unknown(str(error))
            return
        if result is not None:
            self._succeeded(result)
        else:
            without_commit()

    def _succeeded(self, result: Result) -> None:
        self.report.committed = result.version is not None
        self._sync()
        result = endings.judged(self.job, result)
        text = endings.success_text(result)
        self._end(State.SUCCEEDED, text=text, result=result.as_json(), version=result.version, no_op=result.no_op)

    def _failed(self, watch: Watch, failed: EngineFailed) -> None:
        if watch.why_cancelled:
            self._stopped(watch)  # work that is stopped half-way may fail with any error
        elif self.checked.strict and (drift := self.handling.look(self.job)) is not None and drift.moved:
            self._end(State.STALE, error=endings.moved(drift.why))  # a strict job may not commit on a later version
        else:
            self._end(State.FAILED, error=endings.engine_failed(failed.failure, endings.NOTHING))

    def _stopped(self, watch: Watch) -> None:
        if watch.why_cancelled == "limit":
            self._end(State.FAILED, error=endings.limit_reached("a run", timing().run_limit))
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

    def _sync(self) -> None:
        """Syncs the catalog before the job becomes `succeeded`; if the sync fails, the job still records its true outcome."""
        self.report.stage("updating the catalog")
        with border("sync_lost", {"job": str(self.job.pk)}, self._without_catalog):
            log_access.sync(self.job.table_id)

    def _without_catalog(self, error: Exception) -> None:
        """Goes on without the sync: the commit is in the log either way."""
        if isinstance(error, OperationalError | InterfaceError):
            connection.close()

    def _end(self, target: State, **changes: Any) -> None:
        self._recorded(lambda: move(self.job, target, Cause.WORKER, self.who, token=self.claim.token, **changes))
        reached(Point.RESULT_WRITTEN)
        reached(Point.LOCK_RELEASED)

    def _unless_fenced(self, write: Callable[[], None]) -> None:
        """Writes before this process ends, which it must do even if another worker has the claim by now."""
        try:
            self._recorded(write)
        except Fenced as fenced:
            log.warning("fenced", job=str(self.job.pk), text=str(fenced))

    def _recorded(self, write: Callable[[], object]) -> None:
        """Records the outcome. Retries with back-off while the database or the audit can't be written; never guesses."""
        wait, until = 0.1, time.monotonic() + timing().record_retry
        while True:
            try:
                write()
            except (OperationalError, InterfaceError, Problem) as error:
                if time.monotonic() > until:
                    raise
                log.warning("not_yet_recorded", job=str(self.job.pk), error=str(error).split("\n")[0])
                connection.close()
                time.sleep(wait)
                wait = min(wait * 2, 5)
            else:
                return


def _refused_state(refused: CommandRefused) -> State:
    """STALE for a table that has moved, since the request itself isn't wrong; else FAILED."""
    return State.STALE if refused.refusals[0].code == "stale" else State.FAILED


def _first_line(failed: EngineFailed) -> str:
    return (failed.failure.message.splitlines() or ["no reason given"])[0][:200]


def work(execution: Execution) -> None:
    """Works on one claim to its end. Only logs a lost claim, since its new owner records the outcome. Raises EngineLost."""
    try:
        _work(execution)
    except Fenced as fenced:
        log.warning("fenced", job=str(execution.job.pk), text=str(fenced))


def _work(execution: Execution) -> None:
    with border("job_broken", {"job": str(execution.job.pk)}, execution.broken, _PASSING):
        execution.preview() if execution.claim.kind == Attempt.Kind.PREVIEW else execution.run()


# Another worker has the claim, or another attempt may succeed.
_PASSING = (Fenced, EngineLost, OperationalError, InterfaceError, Problem)
