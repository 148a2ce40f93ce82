"""The command line of each part, the same under `manage.py up` and under another supervisor (`manage.py serve`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

DISPATCHER = "dispatcher"
WITH_A_JVM = ("interactive", "spark", "streams")
# Threads answer reads; a run of a command has one child, which can be ended hard.
POOLS: Mapping[str, tuple[str, ...]] = {
    "light": ("-P", "threads", "-c", "4"),
    "interactive": ("-P", "threads", "-c", "4"),
    "spark": ("-P", "prefork", "-c", "1"),
    "streams": ("-P", "prefork", "-c", "1"),
}
# Of a web process. console.base.waiting says how many may wait, console.server.turns how many one person gets.
THREADS = 24
# The C library would keep memory for each of many threads.
WEB_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}


def web(bind: str) -> list[str]:
    """gunicorn; `bind` is HOST:PORT, or fd://NUMBER of a socket that is bound already."""
    return [
        *(sys.executable, "-m", "gunicorn", "console.wsgi", "--bind", bind),
        *("--config", "python:console.server.hooks"),
        *("--worker-class", "console.server.worker.PatientWorker", "--workers", "2", "--threads", str(THREADS)),
        *("--graceful-timeout", "4", "--worker-tmp-dir", _memory_directory()),
        *("--no-sendfile", "--no-control-socket", "--log-level", "warning"),
    ]


def worker(queue: str, name: str | None = None) -> list[str]:
    """A Celery worker of one queue. A second one on a host needs a `name` of its own: the queue's, a hyphen and more."""
    return [
        *(sys.executable, "-m", "celery", "-q", "-A", "console", "worker", "-Q", queue, *POOLS[queue]),
        *(
            "-n",
            f"{name or queue}@%h",
            "--without-gossip",
            "--without-mingle",
            "--without-heartbeat",
            "--loglevel",
            "INFO",
        ),
    ]


def dispatcher() -> list[str]:
    """The process that wakes, reconciles, tidies and keeps the audit."""
    return [sys.executable, "manage.py", DISPATCHER]


def prepare(sample: bool) -> list[str]:
    """Migrations, the first person and, if wanted, the sample lake; it ends when they are there."""
    return [sys.executable, "manage.py", "prepare", *([] if sample else ["--no-sample"])]


def environment(home: Path, java_home: Path | None) -> dict[str, str]:
    """What every part finds in its environment: ours, the home, and Java where it starts one."""
    return {
        **os.environ,
        "LEVEE_HOME": str(home),
        **({"JAVA_HOME": str(java_home)} if java_home else {}),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
    }


def _memory_directory() -> str:
    """Where gunicorn's workers say that they live: on a disk, a slow write would count as a death."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"  # nosec B108  # noqa: S108
