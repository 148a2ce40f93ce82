"""One worker process: its row, its heartbeat, and that it never waits for what can't come."""

import threading
from dataclasses import replace
from functools import partial

import pytest
from django.db import OperationalError

from console.base.processes import ProcessId, boot_id
from jobs.commands.registry import ROWS
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.domain.states import State
from jobs.models import Job, Read, Worker
from jobs.worker.claims import claim_run
from jobs.worker.host import WorkerProcess
from tests import factories
from tests.jobs import scripted
from tests.patience import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


class Host:
    """A host whose engine is in this process."""

    waiting = ""

    def __init__(self, engine: scripted.ScriptedEngine, alive: bool = True) -> None:
        self.engine, self.alive = engine, alive
        self.ended = threading.Event()

    def start(self):
        return self.engine

    def identity(self):
        return None if self.alive else ProcessId(2**22 + 1, 1, boot_id(), 2**22 + 1)

    def end_hard(self) -> None:
        self.ended.set()

    def stop(self) -> None: ...

    def memory_bytes(self):
        return None


@pytest.fixture
def begun(timing, no_wakes, monkeypatch):
    """Begins a worker that does not kill this process when it ends itself."""
    timing(heartbeat=0.05, watch=0.02, lease=5)
    monkeypatch.setattr(WorkerProcess, "end_process", lambda self: self.host.end_hard())
    made: list[WorkerProcess] = []

    def begin(host, name="spark@test"):
        process = WorkerProcess(name, name.split("@")[0], host)
        made.append(process)
        process.begin()
        return process

    yield begin
    for process in made:
        process.stop()
        wait_for(partial(down, process.name), "the worker is down", 5.0)


def down(name):
    return Worker.objects.filter(name=name, condition="down").exists()


def ready(name="spark@test"):
    return Worker.objects.filter(name=name, condition="ready").exists()


def test_it_runs_what_waits_until_nothing_is_left(lake, olga, begun):
    jobs = [factories.job_on(factories.table_in(lake, f"t{n}"), olga) for n in range(3)]
    begun(Host(scripted.ScriptedEngine())).drain_queue()
    assert {Job.objects.get(pk=j.pk).state for j in jobs} == {State.SUCCEEDED}
    assert claim_run(factories.holder()) is None


@pytest.mark.parametrize(("kind", "state"), [("streams", State.SUCCEEDED), ("spark", State.QUEUED)])
def test_it_runs_what_waits_in_the_queue_of_its_kind(orders, olga, begun, monkeypatch, kind, state):
    monkeypatch.setitem(ROWS, "append", replace(ROWS["append"], queue="streams"))
    factories.job_on(orders, olga)
    begun(Host(scripted.ScriptedEngine()), f"{kind}@test").drain_queue()
    assert Job.objects.get().state == state


def test_a_drained_worker_claims_nothing_until_it_may_again(orders, olga, begun):
    process = begun(Host(scripted.ScriptedEngine()))
    wait_for(ready, "the worker is ready")
    Worker.objects.update(drain_requested_at="2000-01-01T00:00:00Z")
    wait_for(process.draining.is_set, "it drains")
    job = factories.job_on(orders, olga)
    process.drain_queue()
    assert Job.objects.get(pk=job.pk).state == State.QUEUED
    Worker.objects.update(drain_requested_at=None)
    wait_for(lambda: not process.draining.is_set(), "it drains no more")
    process.drain_queue()
    assert Job.objects.get(pk=job.pk).state == State.SUCCEEDED


def test_a_worker_that_begins_without_a_database_is_known_when_it_is_back(begun, monkeypatch):
    """A replacement child starts while PostgreSQL restarts: it must not wait for ever for a beginning that failed."""
    real, tries = WorkerProcess._write_row, []

    def away(self):
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("the database system is starting up")
        real(self)

    monkeypatch.setattr(WorkerProcess, "_write_row", away)
    begun(Host(scripted.ScriptedEngine()))
    wait_for(ready, "the worker is ready")
    assert len(tries) == 3


def test_a_jvm_that_died_in_idle_costs_no_attempt(orders, olga, begun):
    host = Host(scripted.ScriptedEngine(), alive=False)
    begun(host)
    assert host.ended.wait(20), "a worker without its JVM is of no use: it ends itself"


def test_a_word_that_comes_late_leaves_the_worker_down(begun):
    """As from the thread that starts the engine, when the worker is stopped meanwhile."""
    process = begun(Host(scripted.ScriptedEngine()))
    process.stop()
    wait_for(partial(down, process.name), "the worker is down")
    process._try_to_say_condition()
    assert down(process.name)


def test_an_engine_that_does_not_start_says_why_and_ends_the_worker(begun):
    class Broken(Host):
        def start(self):
            raise EngineFailed(EngineFailure(None, None, "no Java here"))

    host = Broken(scripted.ScriptedEngine())
    begun(host)
    assert host.ended.wait(20)
    wait_for(lambda: Worker.objects.filter(text="no Java here").exists(), "the worker's row says why")
    assert not ready()


def test_an_engine_whose_files_cannot_be_written_ends_the_worker_too(begun):
    """It would else stay "starting" for ever, and nobody would start another."""

    class OnAFullDisk(Host):
        def start(self):
            with open("/dev/full", "w") as file:
                file.write("settings")

    host = OnAFullDisk(scripted.ScriptedEngine())
    begun(host)
    assert host.ended.wait(20)
    wait_for(
        lambda: Worker.objects.filter(text__contains="No space left on device").exists(), "the worker's row says why"
    )
    assert not ready()


def test_a_read_that_breaks_ends_neither_the_worker_nor_the_waiting(olga, begun, lake):
    class Broken(scripted.ScriptedEngine):
        def read(self, kind, question, marks, report):
            if question["path"].endswith("/odd"):
                raise KeyError("nobody thought of it")
            return {"kind": kind}

    odd, even = (factories.read(olga, question={"path": path}) for path in (f"{lake.uri}/odd", f"{lake.uri}/even"))
    begun(Host(Broken()), "interactive@test").drain_queue()
    assert Read.objects.get(pk=odd.pk, problem__code="broken")
    assert Read.objects.get(pk=even.pk).answer == {"kind": "inspect"}


def test_what_it_does_is_said_even_while_the_database_blinks(orders, olga, begun, monkeypatch):
    """The word on the workers' page must not cost the job its run."""
    process = begun(Host(scripted.ScriptedEngine()))
    wait_for(ready, "the worker is ready")

    def away(self):
        raise OperationalError("gone")

    monkeypatch.setattr(WorkerProcess, "_say_condition", away)
    job = factories.job_on(orders, olga)
    process.drain_queue()
    monkeypatch.undo()
    assert Job.objects.get(pk=job.pk).state == State.SUCCEEDED
