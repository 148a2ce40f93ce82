"""Makes the preview of a claimed job, with the rehearsal that was asked for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from django.db import transaction
from django.db.models.functions import Now

from console.base.timeouts import timing
from jobs.commands.base import Found
from jobs.commands.registry import queue_of
from jobs.domain.errors import CommandRefused, EngineCancelled, EngineFailed, EngineLost
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.domain.states import Cause, State
from jobs.lifecycle import endings, wakeups
from jobs.lifecycle.cancelling import digest_of
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Attempt, Job
from jobs.policy import evaluate
from jobs.predicates.constraints import KIND
from jobs.schedules import closing, refusals
from jobs.targets import places
from jobs.worker.claimed_job import ClaimedJob
from jobs.worker.supervision import Watch


class PreviewWork(ClaimedJob):
    """Measures what the command would do, and moves the job to `queued`, `awaiting_approval`, or an end state."""

    is_rehearsing = False
    unchecked: Found | None = None  # the finished preview while Spark checks the table's constraints

    def work(self) -> None:
        with self._watch(timing().preview_limit) as watch:
            try:
                places.check_claimed(self.job.location)
                with watch.engine_runs():
                    self._look_at_files()
                    found = self._let_by_constraints(self.handling.preview(self.job, self._measured))
                    outcome = self._rehearsed(self._further(found))
            except CommandRefused as refused:
                self._end(State.FAILED, error=endings.refused(refused.refusals))
            except EngineLost:
                self._preview_lost(watch)
                raise
            except EngineCancelled:
                self._preview_cancelled(watch)
            except EngineFailed as failed:
                state = endings.REHEARSAL_FAILED if self.is_rehearsing else endings.NOTHING
                self._end(State.FAILED, error=endings.engine_failed(failed.failure, state))
            else:
                self._previewed(outcome)

    def tell_lost_claim(self) -> None:
        pass  # a preview changes nothing

    def broken(self, error: Exception) -> None:
        self._end(State.FAILED, error=endings.broken(self.job, self.who, error))

    def _let_by_constraints(self, found: Found) -> Found:
        """The preview, with a refusal if anything would run and the table's constraints don't let it."""
        if found.constraints is None or found.refusals or found.nothing_to_do:
            return found
        self.unchecked = found
        try:
            self.engine.read(KIND, dict(found.constraints), self.marks, self.report)
        except CommandRefused as refused:
            return replace(found, refusals=tuple(refused.refusals))
        self.unchecked = None
        return found

    def _further(self, found: Found) -> Found:
        """With the answer of the read that goes further than the measure. The command needs none, so its failure fails nothing."""
        if found.further is None or found.refusals:
            return found
        try:
            answer = self.engine.read(found.further.kind, dict(found.further.question), self.marks, self.report)
        except EngineLost:
            raise
        except EngineFailed as failed:
            self.report.log(f"What goes further than the preview couldn’t be read: {failed}")
            return found
        return found.further.found(answer)

    def _rehearsed(self, found: Found) -> Found:
        """The preview with the rehearsal that was asked for; as it is where nothing would run."""
        if not self.job.rehearse or found.refusals or found.nothing_to_do:
            return found
        if found.base_version is None:
            raise TypeError("only a command on a version of a table is rehearsed")
        self._note_rehearsed(found.base_version)
        self.is_rehearsing = True
        rehearsal = self.engine.rehearse(self.command, found.preview, found.base_version, self.marks, self.report)
        return replace(found, preview={**found.preview, "rehearsal": rehearsal})

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
        """Stores the preview without Spark's measure; fails a command that has none without it, or that was to be rehearsed."""
        limit = timing().preview_limit
        if self.job.rehearse:
            self._end(State.FAILED, error=endings.limit_reached("a preview and its rehearsal", limit))
            return
        if self.unchecked is not None:
            self._previewed(_with_unchecked(self.unchecked, limit))
            return
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

    def _note_rehearsed(self, version: int) -> None:
        """Notes the version that is measured and rehearsed, before its files are read: a vacuum asks for it (version_readers)."""
        mine = Job.objects.filter(pk=self.job.pk, token=self.claim.token, state=State.PREVIEWING)
        self._recorded(lambda: mine.update(base_version=version))

    def _measured(self, version: int | None) -> Measure:
        if self.job.rehearse and version is not None:
            self._note_rehearsed(version)
        return super()._measured(version)

    def _previewed(self, outcome: Found) -> None:
        preview = dict(outcome.preview)
        if outcome.refusals:
            self._end(State.FAILED, preview=preview, error=endings.refused(outcome.refusals))
        elif against := refusals.of_preview(self.job, preview):
            self._end(State.FAILED, preview=preview, error=endings.refused(against))
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
                closing.let_run(self.job)

        self._recorded(write)


def _with_unchecked(found: Found, limit: float) -> Found:
    """The preview with a note for its reviewers that Spark hasn't held the rows against the table's constraints to the end."""
    note = f"Spark couldn’t check the table’s constraints to the end within {limit:,.0f} s: the run may fail by them."
    return replace(found, preview={**found.preview, "notes": [note, *found.preview.get("notes", ())]})
