"""`manage.py dispatcher`: the process that wakes, reconciles, tidies and keeps the audit."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from jobs.dispatcher.rounds import run_for_ever
from jobs.evidence.audit_loops import running
from jobs.models import Worker
from jobs.worker.host import WorkerProcess


class Command(BaseCommand):
    help = "Runs the dispatcher: wakes workers, reconciles lost claims, expires requests."
    requires_system_checks = ()  # they would load every page

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        worker = WorkerProcess("dispatcher", Worker.Kind.DISPATCHER, host=None)
        worker.begin()
        with running(stop):
            run_for_ever(stop)
        worker.stop()
