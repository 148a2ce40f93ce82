"""A run's report: its stages and a bounded log, kept in memory; the watch writes them to the database."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from console.base.text.masking import masked_line
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.models import LogLine

LOG_LINES = 500
LOG_LINE_LENGTH = 2000
FULL = f"The log ends here: Levee stores at most {LOG_LINES} lines of an attempt."


@dataclass
class Stage:
    name: str
    started: float
    seconds: float | None = None


@dataclass
class RunReport:
    """The engine's `Report`. Every method returns at once; only the watch calls `flush`."""

    stages: list[Stage] = field(default_factory=list)
    committed: bool = False
    _lines: list[tuple[float, str]] = field(default_factory=list)  # (monotonic time, text), not yet written
    _said: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def stage(self, name: str) -> None:
        now = time.monotonic()
        if self.stages and self.stages[-1].seconds is None:
            self.stages[-1].seconds = round(now - self.stages[-1].started, 1)
        self.stages.append(Stage(name, now))
        self.log(name)

    def log(self, text: str) -> None:
        with self._lock:
            self._said += 1
            if self._said <= LOG_LINES:
                stored = FULL if self._said == LOG_LINES else _writable(masked_line(text))[:LOG_LINE_LENGTH]
                self._lines.append((time.monotonic(), stored))

    def point(self, name: str) -> None:
        self.committed = self.committed or name == FaultPoint.COMMIT_VISIBLE
        reached(name)

    def as_progress(self, tasks: tuple[int, int] | None) -> dict[str, Any]:
        """The job's `progress`: its stages, Spark's tasks done and total (None if there are none), and whether it has committed."""
        done, total = tasks or (None, None)
        stages = [{"name": s.name, "seconds": s.seconds} for s in list(self.stages)]
        progress = {"stage": stages[-1]["name"] if stages else None, "done": done, "total": total, "stages": stages}
        return progress | ({"committed": True} if self.committed else {})

    def flush(self, attempt_id: uuid.UUID) -> None:
        """Writes the new lines; keeps them in memory while the database is away. Times are the database's."""
        with self._lock:
            fresh = list(self._lines)
        if not fresh:
            return
        now = time.monotonic()
        lines = [
            LogLine(attempt_id=attempt_id, at=Now() - timedelta(seconds=now - at), text=text) for at, text in fresh
        ]
        LogLine.objects.bulk_create(lines)
        with self._lock:
            del self._lines[: len(fresh)]


def _writable(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL can't store."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
