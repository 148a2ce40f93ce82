"""What a worker does with a claim, and what it writes because it learned something. Every write is fenced by the claim's token."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now

from console.errors import Problem
from console.logs import log
from jobs import broker, outcomes, policies
from jobs.claims import Claim
from jobs.domain.commands import command_from_json
from jobs.domain.engine import UNCHECKED, Checked, Engine, Marks
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineFailure, EngineLost, LeveeError
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.domain.states import Cause, State
from jobs.handling import Drift, handling_of
from jobs.handling.base import Found
from jobs.models import Attempt, Job, Worker
from jobs.points import Point, reached
from jobs.report import RunReport
from jobs.services import digest_of
from jobs.timing import timing
from jobs.transitions import Fenced, move, release
from jobs.watch import Watch
from tables import after_jobs

Lost = Callable[[], None]


class Moved(LeveeError):
    """The table is no longer as it was previewed; nothing was begun."""

    def __init__(self, drift: Drift) -> None:
        super().__init__(drift.why)
        self.drift = drift


class Execution:
    """One claim being worked on. `end_hard` ends the JVM for good and waits until it is gone."""

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
        """Measures what the command would do, and leads the job to `queued`, `awaiting_approval`, or its end."""
        with self._watch(timing().preview_limit) as watch:
            try:
                with watch.engine_runs():
                    found = self.handling.preview(self.job, self._measured)
            except CommandRefused as refused:
                self._end(State.FAILED, error=outcomes.refused(refused.refusals))
            except EngineLost:
                self._preview_lost(watch)
                raise
            except EngineCancelled:
                self._preview_cancelled(watch)
            except EngineFailed as failed:
                self._end(State.FAILED, error=outcomes.engine_failed(failed.failure, outcomes.NOTHING))
            else:
                self._previewed(found)

    def _preview_cancelled(self, watch: Watch) -> None:
        if watch.why_cancelled == "limit":
            self._preview_took_too_long()
        elif watch.why_cancelled == "stop":
            self._give_preview_back("released")

    def _preview_lost(self, watch: Watch) -> None:
        """The JVM is gone: the preview is done again by another, unless it took too long for this one."""
        self.end_hard()
        if watch.why_cancelled == "limit":
            with suppress(Fenced):  # the process must end even when the claim is somebody else's by now
                self._preview_took_too_long()
        else:
            self._give_preview_back("released" if watch.why_cancelled == "stop" else "lost")

    def _preview_took_too_long(self) -> None:
        """What can be said without Spark's measure is said; a command that can't do without it fails."""
        limit = timing().preview_limit
        try:
            found = self.handling.unmeasured(self.job, limit)
        except CommandRefused as refused:
            self._end(State.FAILED, error=outcomes.refused(refused.refusals))
        else:
            if found is None:
                self._end(State.FAILED, error=outcomes.limit_reached("a preview", limit))
            else:
                self._previewed(found)

    def _give_preview_back(self, outcome: str) -> None:
        def write() -> None:
            with transaction.atomic():
                mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token, state=State.PREVIEWING)
                mine.update(lease_until=None)
                Attempt.objects.filter(pk=self.claim.attempt_id).update(ended_at=Now(), outcome=outcome)

        self._recorded(write)

    def _measured(self, version: int | None) -> Measure:
        return self.engine.preview(self.command, version, self.marks, self.report)

    def _previewed(self, found: Found) -> None:
        preview = dict(found.preview)
        if found.refusals:
            self._end(State.FAILED, preview=preview, error=outcomes.refused(found.refusals))
        elif found.nothing_to_do:
            result = Result(version=None, operation=None, no_op=True, details={"text": found.nothing_to_do})
            self._sync()
            self._end(State.SUCCEEDED, preview=preview, result=result.as_json(), no_op=True)
        else:
            self._queue(found)

    def _queue(self, found: Found) -> None:
        policy = policies.policy_of(self.job, found.preview)
        self.job.preview, self.job.policy = dict(found.preview), policy.as_json()
        self.job.base_version = found.base_version
        target = State.AWAITING_APPROVAL if policy.required_approvals else State.QUEUED

        def write() -> None:
            with transaction.atomic():
                move(
                    self.job, target, Cause.WORKER, self.who,
                    token=self.claim.token, release=True, attempt_outcome="measured",
                    preview=self.job.preview, policy=self.job.policy, base_version=self.job.base_version,
                    digest=digest_of(self.job), queued_at=Now(), progress={},
                )  # fmt: skip
                broker.wake_after_commit(Worker.Kind.SPARK)

        self._recorded(write)

    # --- runs -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Runs the command and records the truth about it, whatever happens. The lease is kept until that is done."""
        reached(Point.CLAIMED)
        reached(Point.LOCK_TAKEN)
        with self._watch(timing().run_limit) as watch:
            if digest_of(self.job) != self.job.digest:
                self._end(State.STALE, error=outcomes.DIGEST_CHANGED)
                return
            try:
                result = self._engine_run(watch)
            except Moved as moved:
                self._end(State.STALE, error=outcomes.moved(moved.drift.why))
            except CommandRefused as refused:
                self._end(_refused_state(refused), error=outcomes.refused(refused.refusals))
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
        with watch.engine_runs():
            checked = self._checked()
            return self.engine.run(self.command, self.job.preview or {}, checked, self.marks, self.report)

    def _checked(self) -> Checked:
        """The drift check, on record before the run. Raises Moved."""
        drift = self.handling.drift(self.job, self._measured)
        if drift is None:
            return UNCHECKED
        self.checked = drift.checked
        self.job.drift = drift.as_json()
        mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token)
        self._recorded(lambda: mine.update(drift=self.job.drift, drift_at=Now()))
        reached(Point.VERSION_CHECKED)
        if drift.moved:
            raise Moved(drift)
        return drift.checked

    def _by_history(self, without_commit: Callable[[], None]) -> None:
        """Delta can fail, or be cancelled, after its commit (a post-commit hook): the history decides, not the exception."""
        try:
            found = outcomes.committed(self.job)
        except outcomes.Unreadable as error:
            self._unknown(str(error))
            return
        if found is not None:
            self._succeeded(found)
        else:
            without_commit()

    def _succeeded(self, result: Result) -> None:
        self._sync()
        result = outcomes.judged(self.job, result)
        text = outcomes.success_text(result)
        self._end(State.SUCCEEDED, text=text, result=result.as_json(), version=result.version, no_op=result.no_op)

    def _failed(self, watch: Watch, failed: EngineFailed) -> None:
        if watch.why_cancelled:
            self._stopped(watch)  # what is stopped half-way may fail in many words
        elif self.checked.strict and (drift := self.handling.look(self.job)) is not None and drift.moved:
            self._end(State.STALE, error=outcomes.moved(drift.why))  # Delta may not try again on a later version
        else:
            self._end(State.FAILED, error=outcomes.engine_failed(failed.failure, outcomes.NOTHING))

    def _stopped(self, watch: Watch) -> None:
        if watch.why_cancelled == "limit":
            self._end(State.FAILED, error=outcomes.limit_reached("a run", timing().run_limit))
        elif watch.why_cancelled == "stop":
            self._release()
        elif watch.why_cancelled == "cancel":
            self._end(State.CANCELLED)
        elif watch.why_cancelled == "fenced":
            raise Fenced("the claim was lost while it ran")
        else:
            self._unknown("Spark's work was cancelled, and not by Levee.")

    def _release(self) -> None:
        """A planned stop gives the attempt back: Spark has ended the run and nothing was committed."""
        text = "Given back: the worker is stopping. Nothing was committed; another worker will run it."
        self._recorded(lambda: release(self.job, Cause.WORKER, self.who, text, token=self.claim.token))

    def _unknown(self, why: str) -> None:
        """The JVM is gone, or must go: it is ended, and the dispatcher looks for the commit. Always raises EngineLost."""
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
        """The catalog follows before the job says that it has succeeded; should it fail, the job says the truth all the same."""
        self.report.stage("updating the catalog")
        try:
            after_jobs.sync(self.job.table_id)
        except (OperationalError, InterfaceError) as error:
            log.warning("sync_lost", job=str(self.job.pk), error=str(error).split("\n")[0])
            connection.close()
        except Exception as error:  # noqa: BLE001 - the commit is in the log, whatever the catalog makes of it
            log.warning("sync_lost", job=str(self.job.pk), exc_info=error)

    def _end(self, target: State, **changes: Any) -> None:
        self._recorded(lambda: move(self.job, target, Cause.WORKER, self.who, token=self.claim.token, **changes))
        reached(Point.RESULT_WRITTEN)
        reached(Point.LOCK_RELEASED)

    def _unless_fenced(self, write: Callable[[], None]) -> None:
        """Records what goes before the end of this process, which must come even when the claim is somebody else's by now."""
        try:
            self._recorded(write)
        except Fenced as fenced:
            log.warning("fenced", job=str(self.job.pk), text=str(fenced))

    def _recorded(self, write: Callable[[], object]) -> None:
        """Writes what has happened; a lost connection, or an audit that can't be written, is retried with back-off, never guessed."""
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
    """What was approved is gone rather than wrong: the table has moved."""
    return State.STALE if refused.refusals[0].code == "stale" else State.FAILED


def _first_line(failed: EngineFailed) -> str:
    return (failed.failure.message.splitlines() or ["it gave no reason"])[0][:200]


def work(execution: Execution) -> None:
    """One claim from beginning to end. A fenced claim ends quietly: somebody else has the truth in hand. Raises EngineLost."""
    try:
        execution.preview() if execution.claim.kind == Attempt.Kind.PREVIEW else execution.run()
    except Fenced as fenced:
        log.warning("fenced", job=str(execution.job.pk), text=str(fenced))
