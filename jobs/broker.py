"""Wake-ups: a message that says *look*. It may be lost, doubled or late; the rows are the truth and the dispatcher wakes again."""

from __future__ import annotations

from functools import partial

import redis
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerDown

from console.celery import app
from console.env import Env
from console.logs import log
from jobs.points import Point, reached

LOOK = "jobs.look"


def wake(queue: str) -> bool:
    """Sends one wake-up; False when Redis doesn't answer (the row waits, nothing is lost)."""
    try:
        app.send_task(LOOK, queue=queue, retry=False)
    except (BrokerDown, OSError) as error:
        log.warning("wake_lost", queue=queue, error=str(error))
        return False
    reached(Point.WAKE_SENT)
    return True


def pending(queue: str) -> int:
    """How many wake-ups lie in the queue, taken by nobody; 0 when Redis doesn't answer.

    Messages don't expire (the clock of another machine would decide): whoever sends again and again looks here first.
    """
    try:
        with redis.Redis.from_url(Env.read().redis, socket_timeout=2, socket_connect_timeout=1) as client:
            return int(client.llen(queue))
    except redis.RedisError:
        return 0


def wake_after_commit(queue: str) -> None:
    """Sends the wake-up once the transaction has committed; nothing is sent for a row that isn't there."""
    transaction.on_commit(partial(wake, queue))
