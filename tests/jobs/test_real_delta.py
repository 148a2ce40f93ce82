"""The nastiest cells of the grid on real Delta, with a real JVM; tables are read by another engine (`deltalake`) in the end."""

import json
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from console.base.processes import start_ticks
from jobs.lifecycle.fault_points import FaultPoint
from tests.factories import lakes
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, opened
from tests.patience import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.timeout(900)]

TIMING = {
    "lease": 5.0,
    "heartbeat": 1.0,
    "watch": 0.2,
    "reconcile": 0.5,
    "wake": 0.5,
    "cancel_grace": 4.0,
    "unproven": 3.0,
    "fenced": 1.0,
}
SPARK_S = 75.0  # the start of a JVM, and what a job does on it


@pytest.fixture(scope="module")
def instance():
    folder = Path(tempfile.mkdtemp(prefix="levee-delta-"))
    try:
        with opened(folder, TIMING, engine="spark") as made:
            made.add_worker()
            made.add_dispatcher()
            made.add_worker("interactive", LEVEE_TEST_ENGINE="fake")
            ready(made)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _the_same_comparison_everywhere(instance):
    """Job states against the tables as another engine reads them: marks, files and rows."""
    yield
    (instance.faults / "armed.json").unlink(missing_ok=True)
    assert truth.mismatches(instance) == []
    for path in instance.lake.iterdir():
        if (path / "_delta_log" / f"{0:020d}.json").exists():
            assert_reads(instance, path)


def assert_reads(instance: Instance, path: Path) -> None:
    table = DeltaTable(str(path))
    assert table.version() == max(v for versions in fake_table.marks(path).values() for v in versions)
    files = [Path(path, action) for action in pa.table(table.get_add_actions())["path"].to_pylist()]
    assert all(file.is_file() for file in files)
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    converted = instance.rows("select 1 from jobs_job where location = %s and command = 'convert'", str(path))
    assert rows == table.to_pyarrow_table().num_rows
    deleted = instance.rows("select 1 from jobs_job where location = %s and command = 'delete'", str(path))
    if not converted and not deleted:
        assert rows == truth.rows_of_succeeded(instance, path)


@pytest.fixture
def table(instance, request):
    return instance.table("".join(c if c.isalnum() else "_" for c in request.node.name))


def ready(instance: Instance) -> None:
    instance.wait_ready(quiet_s=SPARK_S)


def ends(instance: Instance, job: str, state: str):
    ended = instance.wait_state(job, quiet_s=SPARK_S)
    why = instance.rows("select error from jobs_job where id = %s", job)
    assert ended["state"] == state, (why, instance.story(job))
    return ended


def kill(victim: str) -> dict:
    return {"do": "kill", "victim": victim}


def append(instance: Instance, table: Path, **values: float) -> str:
    return str(instance.ask("append", path=str(table), **{"rows": 3} | values)["job"])


@pytest.mark.parametrize(
    ("point", "victim", "attempt"),
    [
        (
            FaultPoint.FILES_WRITTEN,
            "child",
            None,
        ),  # Delta may commit while the dispatcher hasn't ended the JVM: both are right
        pytest.param(FaultPoint.FILES_WRITTEN, "jvm", None, marks=pytest.mark.long),
        (FaultPoint.COMMIT_VISIBLE, "jvm", 1),
        pytest.param(FaultPoint.COMMIT_VISIBLE, "main", 1, marks=pytest.mark.long),
        (FaultPoint.COMMIT_VISIBLE, "postgres", 1),
    ],
    ids=lambda v: str(v).replace(" ", "_"),
)
def test_a_death_around_the_commit_has_one_effect(instance, table, point, victim, attempt):
    ready(instance)
    instance.arm(point, kill(victim))
    ended = ends(instance, append(instance, table), "succeeded")
    assert instance.fired
    assert attempt in {None, ended["attempt"]}


@pytest.mark.long
def test_ten_appends_at_once_on_one_table_all_land(instance, table):
    ready(instance)
    jobs = [append(instance, table, rows=n + 1) for n in range(10)]
    assert [ends(instance, job, "succeeded")["version"] for job in jobs] == list(range(10))
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 55


def deletable(table: Path, parts: int) -> None:
    """A table of so many files with ten ids each, in order."""
    for part in range(parts):
        lakes.delta(table, {"id": list(range(part * 10, part * 10 + 10))}, mode="append")


def disjoint(parts: int) -> list[str]:
    """Of each file another row."""
    return [f"id = {part * 10 + part % 10}" for part in range(parts)]


def ids_of(table: Path) -> list[int]:
    return sorted(DeltaTable(str(table)).to_pyarrow_table()["id"].to_pylist())


def test_disjoint_deletes_queued_at_once_on_one_table_all_land(instance, table):
    deletable(table, 10)
    ready(instance)
    jobs = instance.ask("deletes", path=str(table), predicates=disjoint(10))["jobs"]
    versions = [ends(instance, job, "succeeded")["version"] for job in jobs]
    assert sorted(versions) == list(range(10, 20))
    assert ids_of(table) == [n for n in range(100) if n % 10 != n // 10]


@pytest.mark.parametrize(
    ("point", "victim"),
    [
        (FaultPoint.SPARK_STARTED, "jvm"),
        (FaultPoint.COMMIT_VISIBLE, "child"),
        pytest.param(FaultPoint.RESULT_WRITTEN, "child", marks=pytest.mark.long),
    ],
    ids=lambda v: str(v).replace(" ", "_"),
)
def test_a_delete_whose_worker_dies_has_one_effect(instance, table, point, victim):
    deletable(table, 2)
    ready(instance)
    instance.arm(point, kill(victim))
    (job,) = instance.ask("deletes", path=str(table), predicates=["id < 5"])["jobs"]
    assert ends(instance, job, "succeeded")["version"] == 2
    assert instance.fired
    assert ids_of(table) == list(range(5, 20))


def test_a_worker_frozen_past_its_lease_wakes_up_to_nothing(instance, table):
    ready(instance)
    child = instance.victims()["child"]
    instance.arm(FaultPoint.VERSION_CHECKED, {"do": "freeze", "victim": "child"})
    assert ends(instance, append(instance, table), "succeeded")["attempt"] == 2
    assert start_ticks(child) is None, "nothing is left that could wake up"


def test_a_cancel_stops_spark_and_the_jvm_stays(instance, table):
    ready(instance)
    jvm = instance.victims()["jvm"]
    job = append(instance, table, seconds=120)
    wait_for(
        lambda: instance.rows("select 1 from jobs_job where id = %s and progress->>'total' is not null", job),
        "Spark counts the job's tasks",
    )
    instance.ask("cancel", job=job)
    ends(instance, job, "cancelled")
    ends(instance, append(instance, table), "succeeded")
    assert instance.victims()["jvm"] == jvm


def test_a_frozen_jvm_is_ended_when_its_job_is_cancelled(instance, table):
    ready(instance)
    instance.arm(FaultPoint.SPARK_STARTED, {"do": "freeze", "victim": "jvm"})
    job = append(instance, table)
    instance.wait_fired()
    instance.ask("cancel", job=job)
    ends(instance, job, "cancelled")


def test_a_convert_whose_worker_dies_after_the_commit_is_found_by_its_mark(instance, table):
    """CONVERT ignores txnAppId: only its userMetadata says whose it was."""
    lakes.parquet(table / "a.parquet", {"id": [1, 2, 3]})
    ready(instance)
    instance.arm(FaultPoint.COMMIT_VISIBLE, kill("child"))
    job = instance.ask("convert", path=str(table))["job"]
    ended = ends(instance, job, "succeeded")
    assert (ended["version"], instance.fired) == (0, True)
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 3


def test_a_writer_that_wakes_up_on_another_host_is_told_as_a_late_commit(instance, table):
    instance.remove("spark")
    # It looks at its claim so seldom that it commits before it learns that the claim was lost.
    blind = json.dumps({**instance.timing, "watch": 3600})
    instance.add_worker(LEVEE_TEST_HOST="elsewhere", LEVEE_TIMING=blind)
    try:
        ready(instance)
        child = instance.victims()["child"]
        instance.arm(FaultPoint.SPARK_STARTED, {"do": "freeze", "victim": "child"})
        job = append(instance, table)
        assert ends(instance, job, "stale")["version"] is None
        os.kill(child, signal.SIGCONT)
        wait_for(
            lambda: instance.job(job)["version"] == 0, "the late commit is known", SPARK_S, lambda: instance.story(job)
        )
        assert "late_commit" in [event[1] for event in instance.story(job)]
    finally:
        instance.remove("spark")
        instance.add_worker()


def test_a_delete_lost_on_another_host_is_made_by_the_next_attempt_alone(instance, table):
    deletable(table, 2)
    instance.remove("spark")
    blind = json.dumps({**instance.timing, "watch": 3600})
    instance.add_worker(LEVEE_TEST_HOST="elsewhere", LEVEE_TIMING=blind)
    try:
        ready(instance)
        child = instance.victims()["child"]
        instance.arm(FaultPoint.SPARK_STARTED, {"do": "freeze", "victim": "child"})
        (job,) = instance.ask("deletes", path=str(table), predicates=["id < 5"])["jobs"]
        instance.wait_fired(SPARK_S)
        instance.add_worker("spark-2")
        ended = ends(instance, job, "succeeded")
        assert (ended["attempt"], ended["version"]) == (2, 2)
        os.kill(child, signal.SIGCONT)
        wait_for(
            lambda: any("came back after" in event[4] for event in instance.story(job)),
            "the lost attempt says how it ended", SPARK_S, lambda: instance.story(job),
        )  # fmt: skip
        assert ids_of(table) == list(range(5, 20))
        assert DeltaTable(str(table)).version() == 2
        outcomes = instance.rows("select outcome from jobs_attempt where job_id = %s order by claimed_at", job)
        assert outcomes[0] == ("came back, fenced",)
    finally:
        instance.remove("spark-2")  # the one that claims now, for whose end the removal of the other waits
        instance.remove("spark")
        instance.add_worker()


def test_the_real_times_resolve_what_is_unknown_in_ninety_seconds(instance, table):
    """Lease, heartbeat and rounds as they are shipped; the others of this module are shorter."""
    for name in ("spark", "dispatcher"):
        instance.remove(name)
    shortened, instance.timing = instance.timing, {}
    try:
        instance.add_worker()
        instance.add_dispatcher()
        ready(instance)
        instance.arm(FaultPoint.COMMIT_VISIBLE, kill("child"))
        job = append(instance, table)
        instance.wait_fired(SPARK_S)
        instance.wait_state(job, quiet_s=SPARK_S)
        ((ended,),) = instance.rows("select extract(epoch from finished_at) from jobs_job where id = %s", job)
        assert instance.job(job)["state"] == "succeeded"
        assert float(ended) - instance.fired_at <= 90  # since it died; how long Spark took before is another matter
    finally:
        instance.timing = shortened
