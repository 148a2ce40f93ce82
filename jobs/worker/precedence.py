"""Who comes first while JVMs warm up: whoever waits for the JVM, and on few cores a new stream's first round, which somebody watches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import DatabaseError, InterfaceError
from django.db.models.functions import Now
from django.utils import timezone

from console.base.logs import log
from jobs.commands.registry import kinds_of
from jobs.domain.states import CLAIMED, State
from jobs.models import Job, Read, StreamRound, Worker

ROOMY_CORES = 4  # from here on JVMs don't hold each other up
LONGEST_S = 60.0  # of waiting, in all of one warm-up
LOOK_EVERY_S = 0.5
NEW = timedelta(minutes=3)  # a first round that is older waits for something else than processors


class GivingWay:
    """The Report of a warm-up: at each of its stages it waits while a first round runs, unless a page waits for a read."""

    def __init__(
        self,
        cores: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cores = cores or os.cpu_count() or 1
        self._clock, self._sleep = clock, sleep
        self._left = LONGEST_S

    def stage(self, name: str) -> None:
        """Waits. A database that doesn't answer holds up no warm-up."""
        began = self._clock()
        while self._cores < ROOMY_CORES and self._clock() - began < self._left and _comes_first():
            self._sleep(LOOK_EVERY_S)
        waited = self._clock() - began
        self._left -= waited
        if waited > LOOK_EVERY_S:
            log.info("warm_up_gave_way", stage=name, seconds=round(waited, 1))

    def log(self, text: str) -> None: ...

    def point(self, name: str) -> None: ...


def is_awaited(queue: str) -> bool:
    """Whether a job or a read waits for the worker of this queue. A database that doesn't answer says no."""
    live = Job.objects.filter(expires_at__gt=Now())
    try:
        if queue == Worker.Kind.INTERACTIVE and live.filter(state=State.PREVIEWING, lease_until=None).exists():
            return True
        queued = live.filter(state=State.QUEUED, command__in=kinds_of(queue))
        reads = Read.objects.filter(state=Read.State.WAITING, queue=queue, expires_at__gt=Now())
        return queued.exists() or reads.exists()
    except (DatabaseError, InterfaceError):
        return False


def _comes_first() -> bool:
    """Whether a stream's first round is on its way and nobody waits for a read."""
    try:
        first = StreamRound.objects.filter(
            number=1, opened_at__gt=timezone.now() - NEW, job__state__in={State.QUEUED, *CLAIMED}
        )
        return first.exists() and not Read.objects.filter(state=Read.State.WAITING).exists()
    except (DatabaseError, InterfaceError):
        return False
