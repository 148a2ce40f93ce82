"""What happens beside a run: the lease is renewed, progress and log are written, cancel and limits are acted on."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from console.logs import log
from jobs.claims import Claim
from jobs.domain.engine import Engine
from jobs.domain.states import State
from jobs.models import Job, LogLine
from jobs.points import reached
from jobs.secrets import masked
from jobs.timing import timing
from jobs.transitions import note, renew

LOG_LINES = 500
LOG_LINE_LENGTH = 2000
_WHY = {
    "cancel": "cancel asked for: Spark is told to stop",
    "fenced": "this claim was lost: stopping",
    "limit": "the time limit is reached: Spark is told to stop",
    "stop": "the worker is stopping: Spark is told to stop",
}


@dataclass
class Stage:
    name: str
    started: float
    seconds: float | None = None


@dataclass
class RunReport:
    """The engine's `Report`: kept in memory, written by the watch. Every method returns at once."""

    stages: list[Stage] = field(default_factory=list)
    lines: deque[tuple[Any, str]] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    written: int = 0

    def stage(self, name: str) -> None:
        now = time.monotonic()
        if self.stages and self.stages[-1].seconds is None:
            self.stages[-1].seconds = round(now - self.stages[-1].started, 1)
        self.stages.append(Stage(name, now))
        self.log(name)

    def log(self, text: str) -> None:
        self.lines.append((timezone.now(), masked(text)[:LOG_LINE_LENGTH]))

    def point(self, name: str) -> None:
        reached(name)

    def as_progress(self, tasks: tuple[int, int] | None) -> dict[str, Any]:
        """The job's `progress`: the stage in words, Spark's tasks done and total (None where there are none)."""
        done, total = tasks or (None, None)
        stages = [{"name": s.name, "seconds": s.seconds} for s in self.stages]
        return {"stage": self.stages[-1].name if self.stages else None, "done": done, "total": total, "stages": stages}


class Watch:
    """A thread beside one claim, with a database connection of its own. Use as a context manager around the engine's call."""

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
        self._over = threading.Event()
        self._started = time.monotonic()
        self._renewed = self._started
        self._without_executors: float | None = None
        self._said_no_executors = False
        self._cancelling_since: float | None = None
        self._last_progress: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._run, name=f"watch-{claim.job.pk}", daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._pause()):
            try:
                self._look()
            except (OperationalError, InterfaceError) as error:
                # The database is away: the run goes on, the lease may lapse, the end is written when it is back.
                log.warning("watch_database_down", job=str(self.claim.job.pk), error=str(error).split("\n")[0])
                connection.close()
        self._last_words()
        connection.close()

    def _pause(self) -> float:
        return min(timing().watch, 0.3) if self.why_cancelled else timing().watch

    def _look(self) -> None:
        progress = self.report.as_progress(self.engine.progress(self.tag))
        self._beat(progress)
        self._write_log()
        self._check_limits(progress)
        if self.why_cancelled:
            self._keep_cancelling()

    def _beat(self, progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if progress == self._last_progress and now - self._renewed < timing().heartbeat:
            state = self._state_now()
        else:
            state = renew(self.claim.job, self.claim.token, timing().lease, progress)
            self._renewed, self._last_progress = now, progress
        if state is None:
            self._cancel("fenced")
        elif state == State.CANCELLING:
            self._cancel("cancel")
        elif self.stop_requested.is_set():
            self._cancel("stop")

    def _state_now(self) -> str | None:
        rows = Job.objects.filter(pk=self.claim.job.pk, token=self.claim.token, lease_until__isnull=False)
        return rows.values_list("state", flat=True).first()

    def _check_limits(self, progress: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._started > self.limit:
            self._cancel("limit")
        if self.engine.has_executors():
            self._without_executors = None
        elif self._without_executors is None:
            self._without_executors = now
        elif not self._said_no_executors and now - self._without_executors > timing().no_executors:
            self._said_no_executors = True
            self._say(f"Spark has had no executors for {timing().no_executors:.0f} s; the run waits for one.")

    def _say(self, text: str) -> None:
        self.report.log(text)
        note(self.claim.job, self.who, "note", text)

    def _cancel(self, why: str) -> None:
        if self.why_cancelled is None:
            self.why_cancelled, self._cancelling_since = why, time.monotonic()
            self.report.log(_WHY[why])

    def _keep_cancelling(self) -> None:
        """Cancel is not sticky in Spark: it is repeated until the run has ended; one that doesn't end is ended with its JVM."""
        self.engine.cancel(self.tag)
        if self._cancelling_since and time.monotonic() - self._cancelling_since > timing().cancel_grace:
            self.report.log("Spark didn't stop; its JVM is ended")
            self.end_hard()

    def _write_log(self) -> None:
        fresh = [self.report.lines.popleft() for _ in range(len(self.report.lines))]
        room = LOG_LINES - self.report.written
        kept = fresh[:room]
        self.report.written += len(kept)
        LogLine.objects.bulk_create([LogLine(attempt_id=self.claim.attempt_id, at=at, text=text) for at, text in kept])

    def _last_words(self) -> None:
        try:
            self._write_log()
        except (OperationalError, InterfaceError) as error:
            log.warning("log_lost", attempt=str(self.claim.attempt_id), error=str(error).split("\n")[0])
