"""How a Celery process becomes a worker: its kind by its name, an engine of its own where the kind needs one."""

from types import SimpleNamespace

import pytest

from jobs.models import Worker
from jobs.worker import tasks
from jobs.worker.host import WorkerProcess


@pytest.mark.parametrize(
    ("name", "kind", "hosts"),
    [
        ("spark-2@here", "spark", 1),
        ("interactive@here", "interactive", 1),
        ("streams@here", "streams", 1),
        ("light@here", "light", 0),
    ],
)
def test_the_kinds_that_use_spark_have_an_engine(monkeypatch, name, kind, hosts):
    made: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks, "_name", name)
    monkeypatch.setattr(tasks, "_here", None)
    monkeypatch.setattr(tasks, "make_host", lambda *asked: made.append(asked))
    monkeypatch.setattr(WorkerProcess, "begin", lambda self: None)
    begun = tasks.begin()
    assert (begun.name, begun.kind, begun.kind in Worker.Kind.values) == (name, kind, True)
    assert made == [(kind, name)] * hosts


@pytest.mark.parametrize("threads", [1, 4])
def test_a_worker_shares_out_its_threads(monkeypatch, threads):
    monkeypatch.setattr(tasks, "_name", "interactive@here")
    monkeypatch.setattr(tasks, "_here", None)
    monkeypatch.setattr(tasks, "make_host", lambda *asked: None)
    begun = []
    monkeypatch.setattr(WorkerProcess, "begin", lambda self: begun.append(self))
    tasks.begin_in_main(SimpleNamespace(pool_cls="threads", concurrency=threads))
    assert [process.places for process in begun] == [threads]
