"""A convert whose executor is killed while it reads files: their store holds back what it has asked for, so that the kill falls inside.

Spark begins the lost tasks again on another executor, and one attempt makes one commit that names every file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import s3
from tests.cluster.asked import QUIET_S, ends, progress
from tests.cluster.standalone import Standalone
from tests.jobs.instance import Instance
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

FILES, ROWS = 120, 5
ATTEMPTS = "select number, outcome from jobs_attempt where job_id = %s and kind = 'run'"


class Holding:
    """Stands in a store's door: lets so many data files be read, and has the reads of more wait until they may `go_on`."""

    def __init__(self, door: s3.Door, most: int) -> None:
        self._inside, self._most = door.inside, most
        self._read: set[str] = set()
        self._lock, self._over = threading.Lock(), threading.Event()
        self.held = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].endswith(".parquet"):
            with self._lock:
                self._read.add(environ["PATH_INFO"])
                waits = len(self._read) > self._most
                self.held += waits
            if waits:
                self._over.wait(limit(QUIET_S))
        return self._inside(environ, start_response)

    def go_on(self) -> None:
        self._over.set()


@pytest.fixture(scope="module")
def previewing(instance: Instance) -> Iterator[Instance]:
    """The instance with a worker that previews without a Spark of its own: the run reads the directory itself."""
    instance.add_worker("interactive", LEVEE_TEST_ENGINE="fake")
    instance.wait_ready("interactive", QUIET_S)
    yield instance
    instance.remove("interactive")


def raw(instance: Instance, store: s3.Store, name: str) -> str:
    """A directory of parquet files in the store, and its entry in the catalog."""
    for number in range(FILES):
        out = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": range(number * ROWS, (number + 1) * ROWS)}), out)
        store.put(f"{name}/{number:03}.parquet", out.getvalue().to_pybytes())
    place = f"{store.uri}/{name}"
    instance.ask("stored_table", bucket=store.uri, path=place, storage=store.storage())
    return place


def tasks_lost(instance: Instance) -> int:
    """The tasks that Spark says it lost with their executor."""
    logs: list[Path] = list(instance.home.logs.glob("spark*.jvm.log"))
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
    return sum("Lost task" in line and "ExecutorLostFailure" in line for line in lines)


def is_converting(instance: Instance, job: str) -> bool:
    """Whether tasks of the statement itself run."""
    now = progress(instance, job)
    return now.get("stage") == "converting" and (now.get("done") or 0) < (now.get("total") or 0)


def test_an_executor_that_dies_in_a_convert_costs_nothing(
    previewing: Instance, cluster: Standalone, store: s3.Store
) -> None:
    """It has read half of the footers, each of which a convert reads for the schema and for statistics."""
    place = raw(previewing, store, "raw")
    inside, holding = store.door.inside, Holding(store.door, FILES // 2)
    store.door.inside = holding
    try:
        job = previewing.ask("convert", path=place)["job"]
        wait_for(
            lambda: holding.held,
            "the conversion is held",
            QUIET_S,
            lambda: (previewing.story(job), previewing.error(job)),
        )
        wait_for(lambda: is_converting(previewing, job), "the job converts", QUIET_S, lambda: progress(previewing, job))
        before, executors = tasks_lost(previewing), cluster.executors("worker-1")
        assert cluster.kill_executors("worker-1") == 1
        wait_for(lambda: tasks_lost(previewing) > before, "Spark has lost the tasks", QUIET_S, previewing.tail)
        assert previewing.job(job)["state"] == "running"
        assert not [key for key in store.listed() if key.endswith(".json")], "it was in the middle"
    finally:
        holding.go_on()
        store.door.inside = inside
    assert ends(previewing, job, "succeeded")["version"] == 0
    assert not set(executors) & set(cluster.executors("worker-1"))
    assert previewing.rows(ATTEMPTS, job) == [(1, "succeeded")]
    assert store.marks(place) == {job: [0]}
    found = store.read(place)
    assert (found.version(), len(set(found.file_uris())), len(found.file_uris())) == (0, FILES, FILES)
    assert sorted(found.to_pyarrow_table()["id"].to_pylist()) == list(range(FILES * ROWS))
