"""Celery carries wake-ups and nothing else: the database is the truth, a message only says *look*."""

from __future__ import annotations

import os

from celery import Celery
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
# Django's checks load every page; `make check` runs them, a worker's start need not.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

from console.base.env import Env

TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "console.wake_ups:Transport")
app = Celery("levee")
app.conf.update(
    broker_url=Env.read().broker,
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    result_backend=None,
    # The message may be lost with its worker: the row it points to stays, and the dispatcher wakes again.
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    # A replacement child must not be killed while it starts (the default is 4 s).
    worker_proc_alive_timeout=60,
    worker_hijack_root_logger=False,
    # Nothing of Levee's asks a worker by a message what it does, or to end.
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    # A submit must answer soon when Redis is down: the row is written, the dispatcher wakes later.
    broker_transport_options={"socket_timeout": 5, "socket_connect_timeout": 1, "max_retries": 0},
    task_publish_retry=False,
    task_default_queue="light",
    imports=["jobs.worker.tasks"],
    timezone="UTC",
)
