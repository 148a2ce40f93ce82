"""Wake-ups: messages that tell a worker to look. They may be lost, duplicated or late: the database has the truth, and the
dispatcher wakes again."""

from __future__ import annotations

from functools import partial

import redis
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerDown

from console.base.env import Env
from console.base.logs import log
from console.celery import app
from jobs.lifecycle.fault_points import FaultPoint, reached

LOOK = "jobs.look"


def wake(queue: str) -> bool:
    """Sends one wake-up; False if Redis doesn't answer or its disk is full. Nothing is lost: the row waits for the next one."""
    try:
        app.send_task(LOOK, queue=queue, retry=False)
    except (BrokerDown, redis.RedisError, OSError) as error:
        log.warning("wake_lost", queue=queue, error=str(error))
        return False
    reached(FaultPoint.WAKE_SENT)
    return True


def pending(queue: str) -> int:
    """How many wake-ups wait in the queue; 0 if Redis doesn't answer.

    Messages don't expire, since another machine's clock would decide that, so repeated senders check here first.
    """
    try:
        with redis.Redis.from_url(Env.read().redis, socket_timeout=2, socket_connect_timeout=1) as client:
            return int(client.llen(queue))
    except redis.RedisError:
        return 0


def wake_after_commit(queue: str) -> None:
    """Sends the wake-up once the transaction has committed, so never for a row that isn't there."""
    transaction.on_commit(partial(wake, queue))
