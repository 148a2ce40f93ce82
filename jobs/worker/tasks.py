"""The Celery task *look*, which only tells a worker to claim. Loaded by Celery's workers only."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from celery.signals import celeryd_init, worker_init, worker_process_init, worker_shutting_down

from console.celery import app
from jobs.lifecycle import wakeups
from jobs.lifecycle.fault_points import FaultPoint, reached
from jobs.models import Worker
from jobs.worker.host import EngineHost, WorkerProcess

_here: WorkerProcess | None = None
_name = ""


@app.task(name=wakeups.LOOK)  # type: ignore[untyped-decorator]
def look() -> None:
    """Claims and works until no row is left."""
    reached(FaultPoint.WAKE_RECEIVED)
    if _here is None:
        raise RuntimeError("this worker hasn't begun")
    _here.drain_queue()


@celeryd_init.connect  # type: ignore[untyped-decorator]
def remember_name(sender: str, **_: Any) -> None:
    """Keeps the worker's name: `spark@host` names its kind."""
    global _name
    _name = sender


def kind_of(name: str) -> str:
    """The kind of worker with this name: `spark-2@host` is a spark worker."""
    return name.split("@")[0].split("-")[0]


def spark_host(kind: str, name: str) -> EngineHost:
    """A host with a JVM of its own. Only processes with one import pyspark."""
    from jobs.worker.jvm_host import SparkHost

    return SparkHost(kind, name)


WITH_ENGINE = frozenset({Worker.Kind.SPARK, Worker.Kind.INTERACTIVE, Worker.Kind.STREAMS})
make_host: Callable[[str, str], EngineHost] = spark_host  # tests put another engine here


def begin(places: int = 1) -> WorkerProcess:
    """Makes this process a worker with so many threads. The kinds that use Spark start an engine of their own in the background."""
    global _here
    kind = kind_of(_name)
    host = make_host(kind, _name) if kind in WITH_ENGINE else None
    _here = WorkerProcess(_name, kind, host, places)
    _here.begin()
    return _here


@worker_process_init.connect  # type: ignore[untyped-decorator]
def begin_in_child(**_: Any) -> None:
    """Prefork: the child claims and works, so the JVM is the child's. SIGUSR2 from the parent announces a planned stop."""
    here = begin()
    signal.signal(signal.SIGUSR2, lambda *_: here.stop())


@worker_init.connect  # type: ignore[untyped-decorator]
def begin_in_main(sender: Any, **_: Any) -> None:
    """Threads: the process itself is the worker."""
    if "thread" in str(sender.pool_cls):
        begin(int(sender.concurrency))


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def announce_stop(**_: Any) -> None:
    """Runs before Celery waits for its tasks: the worker gives running jobs back instead of finishing them."""
    if _here is not None:
        _here.stop()
    for child in _children():
        os.kill(child, signal.SIGUSR2)


def _children() -> list[int]:
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
