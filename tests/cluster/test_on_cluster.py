"""Levee's workers on a real Spark cluster: master, workers and executors are processes of their own, and each of them dies here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from console.supervisor.tools import PROJECT
from jobs.lifecycle.fault_points import FaultPoint
from tests.cluster import changes, standalone
from tests.cluster.asked import QUIET_S, append, ends, progress, settings
from tests.factories import lakes
from tests.jobs import truth
from tests.jobs.instance import Instance
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

NOTES = "select text from jobs_jobevent where job_id = %s and kind = 'note' order by id"


@pytest.fixture
def table(instance, request):
    return instance.table("".join(c if c.isalnum() else "_" for c in request.node.name))


def runs_on_spark(instance: Instance, job: str) -> None:
    """Until tasks of it run."""
    wait_for(
        lambda: progress(instance, job).get("total"),
        "Spark counts the job's tasks",
        QUIET_S,
        lambda: instance.story(job),
    )


def waits_for_executors(instance: Instance, job: str) -> str:
    """Until the job says so; its words."""
    text = wait_for(
        lambda: progress(instance, job).get("waiting"),
        "the job says that it waits for executors",
        QUIET_S,
        lambda: instance.story(job),
    )
    assert progress(instance, job)["stage"] == "waiting for executors"
    return str(text)


def deletable(table: Path, parts: int) -> None:
    for part in range(parts):
        lakes.delta(table, {"id": list(range(part * 10, part * 10 + 10))}, mode="append")


def test_a_cluster_does_what_a_local_spark_does(cluster, engine, tmp_path):
    (tmp_path / "there").mkdir()
    elsewhere = [sys.executable, "-m", "tests.cluster.changes", str(tmp_path / "scratch"), str(tmp_path / "there")]
    out = subprocess.run(
        elsewhere,
        cwd=PROJECT,
        check=True,
        text=True,
        input=json.dumps([cluster.address, cluster.secret]) + "\n",
        stdout=subprocess.PIPE,
        timeout=limit(QUIET_S),
    ).stdout
    there = json.loads(out.splitlines()[-1].replace(str(tmp_path / "there"), "LAKE"))
    here = json.loads(json.dumps(changes.changes(engine, tmp_path / "here")).replace(str(tmp_path / "here"), "LAKE"))
    assert there == here
    assert there["ids"] == [n for n in range(changes.ROWS) if n not in (4, 7) and not (n % 2 and n > 20)]


def test_an_executor_that_dies_in_a_delete_costs_nothing(instance, cluster, table):
    """The first delete of this driver, whose tasks take longer than a look at them."""
    deletable(table, 3)
    (job,) = instance.ask("deletes", path=str(table), predicates=["id % 5 = 3"])["jobs"]
    runs_on_spark(instance, job)
    assert cluster.kill_executors("worker-1") == 1
    assert DeltaTable(str(table)).version() == 2, "it was in the middle"
    assert ends(instance, job, "succeeded")["version"] == 3
    found = DeltaTable(str(table))
    assert found.version() == 3
    assert sorted(found.to_pyarrow_table()["id"].to_pylist()) == [n for n in range(30) if n % 5 != 3]
    assert truth.mismatches(instance) == []


def test_a_run_without_executors_says_so_and_goes_on_when_they_come(instance, cluster, table):
    job = append(instance, table, seconds=15)
    runs_on_spark(instance, job)
    cluster.kill("worker-1")
    text = waits_for_executors(instance, job)
    assert text.startswith(f"Waiting for executors: the cluster {cluster.address} has given this job none for ")
    assert instance.job(job)["state"] == "running"
    cluster.start_worker("worker-1")
    ends(instance, job, "succeeded")
    waiting, back = [text for (text,) in instance.rows(NOTES, job)]
    assert (waiting, back.split(" after")[0]) == (text, "Executors have come")
    assert "waiting" not in progress(instance, job)
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 3


@pytest.mark.long
def test_a_run_without_executors_is_cancelled_at_once(instance, cluster, table):
    job = append(instance, table, seconds=60)
    runs_on_spark(instance, job)
    cluster.kill("worker-1")
    try:
        waits_for_executors(instance, job)
        jvm = instance.victims()["jvm"]
        instance.ask("cancel", job=job)
        ends(instance, job, "cancelled")
        assert instance.victims()["jvm"] == jvm, "Spark ended it, nobody had to end Spark"
    finally:
        cluster.start_worker("worker-1")
    ends(instance, append(instance, table), "succeeded")


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(FaultPoint.FILES_WRITTEN, marks=pytest.mark.long, id="before"),
        pytest.param(FaultPoint.COMMIT_VISIBLE, id="after"),
    ],
)
def test_a_driver_that_dies_around_the_commit_has_one_effect(instance, table, point):
    instance.wait_ready(quiet_s=QUIET_S)
    instance.arm(point, {"do": "kill", "victim": "jvm"})
    job = append(instance, table)
    ends(instance, job, "succeeded")
    assert instance.fired
    assert DeltaTable(str(table)).to_pyarrow_table().num_rows == 3
    assert truth.mismatches(instance) == []


def text_of(instance: Instance, name: str) -> tuple[str, str] | None:
    rows = instance.rows("select condition, text from jobs_worker where name like %s", f"{name}@%")
    return rows[0] if rows and rows[0][1] else None


def test_a_master_that_is_away_is_named_and_waited_for(instance, cluster):
    away = f"spark://127.0.0.1:{standalone.free_port()}"
    instance.add_worker("spark-9", **settings(cluster, LEVEE_SPARK_MASTER=away))
    try:
        condition, text = wait_for(lambda: text_of(instance, "spark-9"), "the worker says why it isn't ready", QUIET_S)
        assert condition == "starting"
        assert text.startswith(f"LEVEE_SPARK_MASTER: {away} doesn't answer (Connection refused)")
    finally:
        instance.remove("spark-9")


def test_a_master_with_another_secret_is_named(instance, cluster):
    instance.add_worker("spark-8", **settings(cluster, LEVEE_SPARK_SECRET="x" * 64))
    try:
        condition, text = wait_for(lambda: text_of(instance, "spark-8"), "the worker says why it isn't ready", QUIET_S)
        assert condition == "starting"
        assert text.startswith(
            f"LEVEE_SPARK_MASTER: {cluster.address} answers, and refuses this worker: its secret isn't"
        )
        assert cluster.secret not in text
    finally:
        instance.remove("spark-8")
