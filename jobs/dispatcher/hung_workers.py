"""Kills workers of this host that are alive but hang, so that their supervisor starts new ones.

Under `manage.py up` Levee's supervisor is faster; workers run by another supervisor depend on the dispatcher for this.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from datetime import timedelta

from django.db.models.functions import Now

from console.base.logs import log
from console.base.processes import boot_id, start_ticks
from console.base.timeouts import timing
from jobs.dispatcher.fencing import end_worker
from jobs.models import Worker


class HungWorkers:
    """One of the dispatcher's rounds. Silence counts only while the workers can write their heartbeats to the database."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = self._since = clock()

    def end(self) -> int:
        """Kills the workers that have been silent for too long. Returns their number."""
        now = self._clock()
        if now - self._last > 3 * timing().reconcile:
            self._since = (
                now  # no round finished for a while, so workers may not have been able to write heartbeats either
            )
        self._last = now
        if now - self._since < timing().hung:
            return 0
        return sum(self._end(worker) for worker in self._silent())

    def _silent(self) -> list[Worker]:
        limit = timing().hung + 2 * timing().heartbeat
        rows = Worker.objects.filter(
            host=socket.gethostname(), boot_id=boot_id(), heartbeat_at__lt=Now() - timedelta(seconds=limit)
        ).exclude(kind=Worker.Kind.DISPATCHER)
        return [worker for worker in rows if start_ticks(worker.pid) == worker.start_ticks]

    def _end(self, worker: Worker) -> bool:
        log.error("worker_hung", worker=worker.name, pid=worker.pid)
        return end_worker(worker)
