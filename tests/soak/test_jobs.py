"""The promises about jobs at length: F1 (one effect per job), F2 (a job's state is the table's truth), F3 (no request lost).

`make soak` forces 1,000 doubled deliveries on the fake engine and 100 on real Delta, and kills 200 times at a random step; the
tests run a handful of each. The faults are drawn from LEVEE_SOAK_SEED (printed), so that a failure can be played again.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from console.supervisor.leftovers import wait_until
from jobs.lifecycle.fault_points import FaultPoint
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, opened
from tests.jobs.test_real_delta import TIMING, deletable, disjoint, ids_of
from tests.patience import limit, wait_for

pytestmark = [pytest.mark.servers, pytest.mark.timeout(0)]

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
DELIVERIES, REAL_DELIVERIES = (1_000, 100) if FULL else (20, 2)
KILLS, EMPTIED = (200, 50) if FULL else (4, 2)
SPARE = KILLS // 2 + 2  # rounds more than kills: a step that a job never comes to kills nobody
DELETES = 100 if FULL else 2
DOUBLED = 4
VICTIMS = ("child", "child", "jvm", "jvm", "main", "postgres", "redis")
QUIET_S = 75.0
FIRED_S = 0.5  # of a step that the job never comes to it is all in vain


@pytest.fixture(scope="module")
def chance() -> random.Random:
    seed = int(os.environ.get("LEVEE_SOAK_SEED", random.randrange(1 << 32) if FULL else 1))
    print(f"LEVEE_SOAK_SEED={seed}")
    return random.Random(seed)


def instance_with(engine: str) -> Iterator[Instance]:
    """A real JVM beside other work needs a longer lease than a small process that plays one."""
    folder = Path(tempfile.mkdtemp(prefix="levee-soak-"))
    try:
        with opened(folder, TIMING if engine == "spark" else None, engine) as made:
            for name in ("dispatcher", "dispatcher-2"):
                made.add_dispatcher(name)
            made.add_worker()
            made.wait_ready(quiet_s=QUIET_S)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def instance():
    yield from instance_with("fake")


@pytest.fixture(scope="module")
def real_instance():
    yield from instance_with("spark")


def wait_all_ended(instance: Instance, count: int) -> None:
    """Until so many jobs have ended: each has its seconds, for every tenth needs a new JVM."""
    query = "select count(*) from jobs_job where finished_at is not null"
    wait_for(
        lambda: instance.rows(query)[0][0] >= count, f"{count} jobs have ended", QUIET_S + 2.5 * count, instance.tail
    )


def deliver_doubled(instance: Instance, chance: random.Random, count: int) -> None:
    """Each job is woken for several times at once; every tenth worker dies with its message, and its job comes again."""
    before = instance.rows("select count(*) from jobs_job")[0][0]
    tables = [instance.table(f"f1-{n}") for n in range(max(1, count // 50))]
    for n in range(count):
        if n % 10 == 0:
            instance.arm(chance.choice(list(FaultPoint)[2:]), {"do": "kill", "victim": "child"})
        instance.ask("append", path=str(chance.choice(tables)))
        instance.ask("wakes", count=DOUBLED)
    wait_all_ended(instance, before + count)


def test_f1_doubled_deliveries_have_one_effect_each(instance, chance):
    deliver_doubled(instance, chance, DELIVERIES)
    assert truth.mismatches(instance) == []
    for path in instance.lake.iterdir():
        assert fake_table.rows(path) == truth.rows_of_succeeded(instance, path)
    told(instance, f"F1: {DELIVERIES} jobs, each delivered at least {DOUBLED + 1} times")


@pytest.mark.spark
def test_f1_holds_with_real_delta(real_instance, chance):
    deliver_doubled(real_instance, chance, REAL_DELIVERIES)
    assert truth.mismatches(real_instance) == []
    for path in real_instance.lake.glob("f1-*"):
        if (path / "_delta_log").exists():
            rows = DeltaTable(str(path)).to_pyarrow_table().num_rows
            assert rows == truth.rows_of_succeeded(real_instance, path)
    told(real_instance, f"F1: {REAL_DELIVERIES} jobs with real Delta")


@pytest.mark.spark
def test_f13_disjoint_deletes_at_once_on_one_table_land(real_instance):
    table = real_instance.table("f13")
    deletable(table, DELETES)
    jobs = real_instance.ask("deletes", path=str(table), predicates=disjoint(DELETES))["jobs"]
    for job in jobs:
        assert real_instance.wait_state(job, quiet_s=QUIET_S + DELETES)["state"] == "succeeded"
    assert len(ids_of(table)) == DELETES * 9
    assert truth.mismatches(real_instance) == []
    told(real_instance, f"F13: {DELETES} deletes with real Delta")


def test_f2_job_state_is_table_truth_after_kills_at_every_step(instance, chance):
    table = instance.table("f2")
    fired = 0
    for _ in range(KILLS + SPARE):
        if fired == KILLS:
            break
        instance.wait_ready(quiet_s=QUIET_S)
        victim = chance.choice(VICTIMS)
        instance.arm(chance.choice(list(FaultPoint)), {"do": "kill", "victim": victim})
        answer = instance.ask("append", path=str(table))
        if "refused" not in answer:  # the database died while it was asked: refused, and nothing acknowledged
            instance.wait_state(answer["job"], quiet_s=30)
        fired += wait_until(lambda: instance.fired, limit(FIRED_S))  # two of the steps come after the job's end
    wait_for(
        lambda: instance.rows("select count(*) from jobs_job where finished_at is null") == [(0,)],
        "no job is open",
        QUIET_S,
    )
    assert fired >= KILLS * 0.9
    assert truth.mismatches(instance) == []
    assert fake_table.rows(table) == truth.rows_of_succeeded(instance, table)
    told(instance, f"F2: {fired} kills")


def test_f3_no_acknowledged_request_is_lost_with_redis(instance):
    table = instance.table("f3")
    for _ in range(EMPTIED):
        instance.arm(FaultPoint.WAKE_SENT, {"do": "kill", "victim": "redis"})
        jobs = [instance.ask("append", path=str(table))["job"] for _ in range(3)]
        for job in jobs:
            assert instance.wait_state(job, quiet_s=15)["state"] == "succeeded"
    assert truth.mismatches(instance) == []
    told(instance, f"F3: Redis killed and emptied {EMPTIED} times, {EMPTIED * 3} requests")


def told(instance: Instance, text: str) -> None:
    rows = instance.rows("select state, count(*) from jobs_job group by state order by state")
    attempts = instance.rows("select count(*) from jobs_attempt where outcome like 'lost%%'")[0][0]
    print(f"{text}: {dict(rows)}, {attempts} attempts lost, 0 mismatches")
