"""Workers that something else than Levee's supervisor runs: the dispatcher ends the silent ones of its host."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from console.base.processes import boot_id, identify, start_ticks
from jobs.dispatcher.hung_workers import HungWorkers
from jobs.models import Worker
from tests import factories

pytestmark = pytest.mark.django_db

HOST = "this-host"
SLEEPS = "import time; time.sleep(600)"


@pytest.fixture
def stopped(monkeypatch):
    """A worker's process and its JVM's, both stopped; the row as it left it."""
    monkeypatch.setattr("socket.gethostname", lambda: HOST)
    processes = [subprocess.Popen([sys.executable, "-c", SLEEPS], start_new_session=True) for _ in range(2)]
    main, jvm = (identify(process.pid) for process in processes)
    assert main is not None
    assert jvm is not None
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)

    def row(**values):
        told = {
            "name": "interactive@here",
            "kind": "interactive",
            "host": HOST,
            "boot_id": boot_id(),
            "condition": "ready",
        }
        pids = {
            "pid": main.pid,
            "start_ticks": main.start_ticks,
            "jvm_pid": jvm.pid,
            "jvm_start_ticks": jvm.start_ticks,
        }
        made = factories.WorkerFactory(**told | pids | values)
        Worker.objects.update(heartbeat_at=Now() - timedelta(seconds=3))
        return made

    yield row
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def rounds(timing):
    """A dispatcher that has had a database for long enough to judge."""
    timing(hung=1, heartbeat=0.2, reconcile=5)
    times = iter([0.0, 2.0, 3.0])
    return HungWorkers(lambda: next(times))


def alive(worker: Worker) -> list[int]:
    return [pid for pid in (worker.pid, worker.jvm_pid) if pid is not None and start_ticks(pid) is not None]


def test_a_silent_worker_ends_with_its_jvm(stopped, rounds):
    worker = stopped()
    assert rounds.end() == 1
    assert alive(worker) == []
    assert rounds.end() == 0


@pytest.mark.parametrize("other", [{"host": "elsewhere"}, {"boot_id": "before"}, {"start_ticks": 1}], ids=str)
def test_what_cannot_be_it_is_left_alone(stopped, rounds, other):
    worker = stopped(**other)
    assert rounds.end() == 0
    assert len(alive(worker)) == 2


def test_silence_while_no_round_came_to_its_end_is_forgiven(stopped, timing):
    timing(hung=1, heartbeat=0.2, reconcile=5)
    times = iter([0.0, 60.0])  # the database was away: nobody could say anything
    rounds, worker = HungWorkers(lambda: next(times)), stopped()
    assert rounds.end() == 0
    assert len(alive(worker)) == 2
