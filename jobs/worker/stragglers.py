"""Stops tasks that ignore a cancel: Spark answers it at once, but its tasks may run on forever in slots that others need."""

from __future__ import annotations

import time

from console.base.logs import log
from console.base.timeouts import timing
from jobs.domain.engine import Engine
from jobs.domain.errors import EngineFailed

CANCEL_AGAIN = 0.3


def they_end(engine: Engine, tag: str) -> bool:
    """Tells Spark to stop the remaining tasks of a call that has returned; False if some still run after `timing().listen` seconds."""
    until = time.monotonic() + timing().listen
    while _busy(engine, tag):
        if time.monotonic() > until:
            log.warning("tasks_do_not_listen", tag=tag, seconds=timing().listen)
            return False
        engine.cancel(tag)
        time.sleep(CANCEL_AGAIN)
    return True


def _busy(engine: Engine, tag: str) -> bool:
    try:
        return engine.busy(tag)
    except EngineFailed:  # it is gone, and its tasks with it
        return False
