# ruff: noqa: E402 (Django is set up before its models are imported)
"""Celery's app for tests: the real tasks of jobs, with a small process in the JVM's place and faults on the points.

LEVEE_TEST_ENGINE=spark keeps the real engine. LEVEE_TEST_CLOCK shifts this process's clock by so many seconds, LEVEE_TEST_HOST
gives its host another name.
"""

import os
import socket
import time
from functools import partial

import django

django.setup()

from celery.concurrency import asynpool
from django.utils import timezone

from console.celery import app
from jobs.worker import tasks
from tests.jobs import append
from tests.jobs.faults import arm_from_environment, telling

__all__ = ["app"]

append.register()
arm_from_environment()

if os.environ.get("LEVEE_TEST_ENGINE") == "spark":
    from tests.jobs import spark_append

    spark_append.register()
    spark_append.skip_warming()
else:
    from tests.jobs.fake_engine import FakeHost

    tasks.make_host = FakeHost

tasks.make_host = telling(tasks.make_host)

if os.environ.get("LEVEE_TEST_TIMES"):
    from tests.jobs.timed_host import timed

    tasks.make_host = timed(tasks.make_host)

# Celery misses the end of a child now and then and looks again after five seconds: in a grid of deaths that is most of the time.
asynpool.AsynPool.timers = property(lambda pool: {pool.maintain_pool: 0.3})

if shift := float(os.environ.get("LEVEE_TEST_CLOCK", "0")):
    from datetime import timedelta

    _time, _now = time.time, timezone.now
    time.time = lambda: _time() + shift
    timezone.now = lambda: _now() + timedelta(seconds=shift)

if host := os.environ.get("LEVEE_TEST_HOST"):
    socket.gethostname = partial(str, host)
