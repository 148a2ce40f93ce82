"""Wake-ups: a message that says *look*. It may be lost, doubled or late; the rows are the truth and the dispatcher wakes again."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from kombu.exceptions import OperationalError as BrokerDown

from console.celery import app
from console.logs import log
from jobs.points import Point, reached

LOOK = "jobs.look"


def wake(queue: str) -> bool:
    """Sends one wake-up; False when Redis doesn't answer (the row waits, nothing is lost)."""
    try:
        app.send_task(LOOK, queue=queue, retry=False, expires=600)
    except (BrokerDown, OSError) as error:
        log.warning("wake_lost", queue=queue, error=str(error))
        return False
    reached(Point.WAKE_SENT)
    return True


def wake_after_commit(queue: str) -> None:
    """Sends the wake-up once the transaction has committed; nothing is sent for a row that isn't there."""
    transaction.on_commit(partial(wake, queue))
