"""Watches a run: renews its lease, writes its progress and log, and acts on cancels and limits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from console.base.logs import log
from console.base.timeouts import timing
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed
from jobs.domain.states import State
from jobs.lifecycle.transitions import note, renew
from jobs.models import Attempt, Job
from jobs.worker.claims import Claim
from jobs.worker.executors import STAGE, Executors
from jobs.worker.run_log import RunReport

_WHY = {
    "cancel": "cancel requested: telling Spark to stop",
    "fenced": "this worker lost its claim: telling Spark to stop",
    "limit": "time limit reached: telling Spark to stop",
    "stop": "the worker is stopping: telling Spark to stop",
}
CANCEL_AGAIN = 0.3
_NOT_AN_ATTEMPT = {
    "stop": "stopping",
    "limit": "limit",
}  # what the dispatcher's reconciliation must know if the process ends before the run


class Watch:
    """Watches one claim in two threads: one with a database connection of its own, and one that talks to the engine, which may hang.

    As a context manager it keeps the lease from before the engine's call until the end is recorded. Within `engine_runs` it also
    acts on cancels, stops and limits.
    """

    def __init__(
        self,
        claim: Claim,
        engine: Engine,
        report: RunReport,
        tag: str,
        limit: float,
        stop: threading.Event,
        end_hard: Callable[[], None],
        who: str,
    ) -> None:
        self.who = who
        self.claim, self.engine, self.report, self.tag = claim, engine, report, tag
        self.limit, self.stop_requested, self.end_hard = limit, stop, end_hard
        self.why_cancelled: str | None = None  # "cancel", "fenced", "limit", "stop"
        self._over, self._engine_over = threading.Event(), threading.Event()
        self._started = time.monotonic()
        self._renewed = self._started
        self._cancelling_since = self._started
        self._ended_hard = self._why_written = False
        self._tasks: tuple[int, int] | None = None
        self.executors = Executors(settings.ENV.spark_master)
        self._last_progress: dict[str, Any] = {}
        name = f"{claim.job.pk}"
        self._keeper = threading.Thread(
            target=copy_context().run, args=(self._keep,), name=f"watch-{name}", daemon=True
        )
        self._asker = threading.Thread(
            target=copy_context().run, args=(self._ask_engine,), name=f"ask-{name}", daemon=True
        )

    def __enter__(self) -> Watch:
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._engine_over.set()
        self._over.set()
        self._keeper.join()

    @contextmanager
    def engine_runs(self) -> Iterator[None]:
        """Wraps the engine's call. After it the watch cancels nothing, so that the worker can record the outcome."""
        self._asker.start()
        try:
            yield
        finally:
            self._engine_over.set()

    # --- the lease, the log, the clock ----------------------------------------------------------------------------

    def _keep(self) -> None:
        while not self._over.wait(timing().watch):
            if not self._engine_over.is_set():
                self._check_clock()
            self._look()
        self._look(last=True)
        connection.close()

    def _look(self, *, last: bool = False) -> None:
        try:
            if not last:
                self._beat()
            self.report.flush(self.claim.attempt_id)
        except (OperationalError, InterfaceError) as error:
            # The database is away: the run continues though its lease may lapse, and the end is written when it is back.
            log.warning("watch_database_down", job=str(self.claim.job.pk), error=str(error).split("\n")[0])
            connection.close()

    def _beat(self) -> None:
        now, progress = time.monotonic(), self._progress()
        if progress == self._last_progress and now - self._renewed < timing().heartbeat:
            state = self._state_now()
        else:
            state = renew(self.claim.job, self.claim.token, timing().lease, progress)
            self._renewed, self._last_progress = now, progress
        if state is None:
            self._cancel("fenced")
        elif state == State.CANCELLING:
            self._cancel("cancel")
        self._say_why()
        self._say_executors()

    def _state_now(self) -> str | None:
        rows = Job.objects.filter(pk=self.claim.job.pk, token=self.claim.token, lease_until__isnull=False)
        return rows.values_list("state", flat=True).first()

    def _check_clock(self) -> None:
        """Acts on what needs no database: this worker's stop, the run's time limit, and the grace period after a cancel."""
        now = time.monotonic()
        if self.stop_requested.is_set():
            self._cancel("stop")
        if now - self._started > self.limit:
            self._cancel("limit")
        if self.why_cancelled and not self._ended_hard and now - self._cancelling_since > timing().cancel_grace:
            self._ended_hard = True
            self.report.log("Spark didn't stop; killing its JVM")
            self.end_hard()

    def _cancel(self, why: str) -> None:
        if self.why_cancelled is None and not self._engine_over.is_set():
            self._cancelling_since = time.monotonic()
            self.why_cancelled = why
            self.report.log(_WHY[why])

    def _say_why(self) -> None:
        """Writes the cause to the attempt, so that the reconciliation knows it should this process end before its run."""
        outcome = _NOT_AN_ATTEMPT.get(self.why_cancelled or "")
        if outcome and not self._why_written:
            Attempt.objects.filter(pk=self.claim.attempt_id, ended_at=None).update(outcome=outcome)
            self._why_written = True

    def _say_executors(self) -> None:
        text = self.executors.news()
        if text:
            note(self.claim.job, self.who, "note", text)
            self.report.log(text)
            self.executors.told(text)

    def _progress(self) -> dict[str, Any]:
        progress, waiting = self.report.as_progress(self._tasks), self.executors.waiting
        return {**progress, "stage": STAGE, "waiting": waiting} if waiting else progress

    # --- the engine -----------------------------------------------------------------------------------------------

    def _ask_engine(self) -> None:
        """Runs in its own thread: a JVM that doesn't answer must hold up neither the lease nor the clock."""
        while not self._engine_over.wait(min(timing().watch, CANCEL_AGAIN) if self.why_cancelled else timing().watch):
            try:
                self._ask_once()
            except EngineFailed as failed:  # the run's own call finds out
                log.warning("engine_silent", job=str(self.claim.job.pk), error=failed.failure.message.split("\n")[0])

    def _ask_once(self) -> None:
        if self.why_cancelled:
            # Spark's cancel isn't sticky, so it is repeated until the run has ended.
            self.engine.cancel(self.tag)
            return
        self._tasks = self.engine.progress(self.tag)
        self.executors.seen(self.engine.has_executors())
