"""Every fault point of a job × the death of child, JVM and whole worker; servers killed; workers frozen; clocks wrong.

A fake engine whose JVM is a small process of its own commits real files; everything else is real: PostgreSQL, Redis, Celery, the
dispatcher. Whatever happens, each job ends, and the table and the job say the same.
"""

import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import pytest

from console.base.processes import start_ticks
from jobs.lifecycle.fault_points import FaultPoint
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, opened
from tests.patience import wait_for

pytestmark = pytest.mark.servers

KILLS = ("child", "jvm", "main")


def kill(victim):
    return {"do": "kill", "victim": victim}


@pytest.fixture(scope="module")
def instance():
    folder = Path(tempfile.mkdtemp(prefix="levee-grid-"))
    try:
        with opened(folder) as made:
            made.add_dispatcher()
            made.add_worker()
            made.add_worker("interactive")
            made.wait_ready()
            made.wait_ready("interactive")
            made.ask("wakes", count=1)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _the_same_comparison_everywhere(instance):
    """After each cell: job states against the tables' own logs. Before it: the ordinary worker."""
    if instance.parts["spark"].strange:
        replace_worker(instance)
    yield
    (instance.faults / "armed.json").unlink(missing_ok=True)
    assert truth.mismatches(instance) == []


def replace_worker(instance: Instance, **strange: str) -> None:
    """Another worker in the place of this one, which is left there for the next cell to replace."""
    instance.remove("spark")
    instance.add_worker(**strange)
    instance.wait_ready()


@pytest.fixture
def table(instance, request):
    return instance.table("".join(c if c.isalnum() else "_" for c in request.node.name))


def ends(instance: Instance, job: str, *states: str):
    ended = instance.wait_state(job)
    assert ended["state"] in states, (instance.error(job), instance.story(job))
    return ended


# --- every point × the death of child, JVM, whole worker ----------------------------------------------------------------


@pytest.mark.parametrize("victim", KILLS)
@pytest.mark.parametrize("point", FaultPoint, ids=lambda p: p.value.replace(" ", "_"))
def test_one_death_costs_at_most_an_attempt(instance, table, point, victim):
    instance.wait_ready()
    instance.arm(point, kill(victim))
    job = instance.ask("append", path=str(table))["job"]
    ended = ends(instance, job, "succeeded")
    instance.wait_fired()
    assert ended["attempt"] <= 2
    assert fake_table.rows(table) == 1


def test_the_death_of_who_asks_before_the_commit_leaves_nothing(instance, table):
    """Not acknowledged, and not there: never half."""
    before = instance.rows("select count(*) from jobs_job")
    instance.arm(FaultPoint.REQUEST_WRITTEN, kill("self"))
    with pytest.raises(EOFError):
        instance.ask("append", path=str(table))
    wait_for(
        lambda: not instance.rows("select 1 from pg_stat_activity where state like 'idle in transaction%%'"),
        "PostgreSQL has ended the transaction",
    )
    assert instance.rows("select count(*) from jobs_job") == before


def test_the_death_of_who_asks_after_the_commit_loses_nothing(instance, table):
    instance.arm(FaultPoint.WAKE_SENT, kill("self"))
    with pytest.raises(EOFError):
        instance.ask("append", path=str(table))
    ((job,),) = instance.rows("select id::text from jobs_job where location = %s", str(table))
    ends(instance, job, "succeeded")


def test_two_deaths_exhaust_the_attempts(instance, table):
    job = ""
    for _ in range(2):
        instance.wait_ready()
        instance.arm(FaultPoint.FILES_WRITTEN, kill("child"))
        job = job or str(instance.ask("append", path=str(table))["job"])
        instance.wait_fired()
    ended = ends(instance, job, "failed")
    assert ended["attempt"] == 2
    assert fake_table.marks(table) == {}


def test_a_convert_goes_all_the_way_and_survives_its_deaths(instance, table):
    """Preview on the interactive worker, run on the spark worker, the mark found though CONVERT ignores txnAppId."""
    (table / "a.parquet").write_bytes(b"x" * 10)
    instance.wait_ready()
    instance.arm(FaultPoint.COMMIT_VISIBLE, kill("child"))
    job = instance.ask("convert", path=str(table))["job"]
    ended = ends(instance, job, "succeeded")
    assert (ended["version"], instance.fired) == (0, True)
    assert "found in the history" in instance.story(job)[-1][4]
    instance.wait_ready()
    again = instance.ask("convert", path=str(table))["job"]
    assert ends(instance, again, "succeeded")["no_op"]


# --- a JVM that outlives its worker -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "attempt"), [(0.5, 1), (60, 2)], ids=["commits_in_time", "is_ended_first"])
def test_a_jvm_that_commits_after_its_worker_died_has_one_effect(instance, table, seconds, attempt):
    """The dispatcher makes it dead before it looks: a commit is found, or can never come."""
    instance.wait_ready()
    jvm = instance.victims()["jvm"]
    disarm = threading.Timer(0, lambda: None)
    instance.arm("commit sent", kill("child"))
    job = instance.ask("append", path=str(table), commit_seconds=seconds)["job"]
    instance.wait_fired()
    disarm.start()
    if attempt == 2:
        # The second attempt would take a minute as well: that it has begun is what this cell is about.
        instance.wait_state(job, "running", "queued")
        wait_for(lambda: instance.job(job)["attempt"] == 2, "the second attempt begins")
        assert not Path(f"/proc/{jvm}/exe").exists()
        instance.ask("cancel", job=job)
        ends(instance, job, "cancelled")
    else:
        assert ends(instance, job, "succeeded")["attempt"] == 1


# --- frozen workers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [FaultPoint.CLAIMED, FaultPoint.FILES_WRITTEN, FaultPoint.COMMIT_VISIBLE])
def test_a_worker_frozen_past_its_lease_is_ended_not_awaited(instance, table, point):
    instance.wait_ready()
    child = instance.victims()["child"]
    instance.arm(point, {"do": "freeze", "victim": "child"})
    job = instance.ask("append", path=str(table))["job"]
    ended = ends(instance, job, "succeeded")
    assert ended["attempt"] == (1 if point is FaultPoint.COMMIT_VISIBLE else 2)
    assert start_ticks(child) is None, "nothing is left that could wake up"


def test_a_worker_frozen_for_less_than_its_lease_goes_on(instance, table):
    instance.wait_ready()
    child = instance.victims()["child"]
    instance.arm(FaultPoint.FILES_WRITTEN, {"do": "freeze", "victim": "child"})
    job = instance.ask("append", path=str(table))["job"]
    instance.wait_fired()
    os.kill(child, signal.SIGCONT)
    assert ends(instance, job, "succeeded")["attempt"] == 1


def test_a_frozen_jvm_is_ended_when_its_job_is_cancelled(instance, table):
    instance.wait_ready()
    instance.arm(FaultPoint.FILES_WRITTEN, {"do": "freeze", "victim": "jvm"})
    job = instance.ask("append", path=str(table))["job"]
    instance.wait_fired()
    instance.ask("cancel", job=job)
    ends(instance, job, "cancelled")


def test_a_frozen_worker_is_ended_when_its_job_is_cancelled(instance, table):
    instance.wait_ready()
    instance.arm(FaultPoint.FILES_WRITTEN, {"do": "freeze", "victim": "child"})
    job = instance.ask("append", path=str(table))["job"]
    instance.wait_fired()
    instance.ask("cancel", job=job)
    ends(instance, job, "cancelled")


def test_a_cancel_stops_work_at_once(instance, table):
    instance.wait_ready()
    job = instance.ask("append", path=str(table), seconds=60)["job"]
    instance.wait_state(job, "running")
    instance.ask("cancel", job=job)
    ends(instance, job, "cancelled")
    assert fake_table.marks(table) == {}


def test_a_planned_stop_counts_as_no_attempt(instance, table):
    instance.wait_ready()
    job = instance.ask("append", path=str(table), seconds=4)["job"]
    instance.wait_state(job, "running")
    assert instance.parts["spark"].process is not None
    instance.parts["spark"].process.send_signal(signal.SIGTERM)
    wait_for(
        lambda: [s for s in instance.story(job) if s[1] == "released"],
        "the job is released",
        told=lambda: instance.story(job),
    )
    assert ends(instance, job, "succeeded")["attempt"] == 1


# --- Redis, PostgreSQL --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "point", [FaultPoint.REQUEST_WRITTEN, FaultPoint.WAKE_SENT, FaultPoint.WAKE_RECEIVED, FaultPoint.FILES_WRITTEN]
)
def test_redis_killed_and_emptied_loses_no_request(instance, table, point):
    instance.wait_ready()
    instance.arm(point, kill("redis"))
    jobs = [instance.ask("append", path=str(table))["job"] for _ in range(3)]
    for job in jobs:
        ends(instance, job, "succeeded")
    instance.wait_fired()  # one look may do all three: the others are received after it
    assert fake_table.rows(table) == 3


@pytest.mark.parametrize(
    "point",
    [
        FaultPoint.WAKE_RECEIVED,
        FaultPoint.CLAIMED,
        FaultPoint.FILES_WRITTEN,
        FaultPoint.COMMIT_VISIBLE,
        FaultPoint.RESULT_WRITTEN,
    ],
)
def test_postgresql_killed_loses_no_job(instance, table, point):
    instance.wait_ready()
    instance.arm(point, kill("postgres"))
    job = instance.ask_until_taken("append", path=str(table))[
        "job"
    ]  # an earlier request's wake-up may fire it before this one is written
    ended = ends(instance, job, "succeeded")
    instance.wait_fired()
    if point is FaultPoint.COMMIT_VISIBLE:
        assert ended["attempt"] == 1, "committed, not yet recorded: retried, never guessed"


# --- wake-ups, dispatchers, clocks --------------------------------------------------------------------------------------


def test_fifty_wake_ups_at_once_run_a_job_once(instance, table):
    instance.wait_ready()
    job = instance.ask("append", path=str(table), seconds=0.5)["job"]
    instance.ask("wakes", count=50)
    assert ends(instance, job, "succeeded")["attempt"] == 1
    assert fake_table.rows(table) == 1


def test_ten_jobs_at_once_on_one_table_all_land(instance, table):
    instance.wait_ready()
    jobs = [instance.ask("append", path=str(table))["job"] for _ in range(10)]
    versions = [ends(instance, job, "succeeded")["version"] for job in jobs]
    assert versions == list(range(10)), "first come, first served"


def test_without_a_dispatcher_work_goes_on_and_a_lost_job_waits_for_one(instance, table):
    instance.wait_ready()
    instance.remove("dispatcher")
    try:
        ends(instance, instance.ask("append", path=str(table))["job"], "succeeded")
        instance.arm(FaultPoint.FILES_WRITTEN, kill("child"))
        lost = instance.ask("append", path=str(table))["job"]
        lapsed = "select 1 from jobs_job where id = %s and state = 'running' and lease_until < now()"
        wait_for(lambda: instance.rows(lapsed, lost), "the lease lapses")
    finally:
        instance.add_dispatcher()
    ends(instance, lost, "succeeded")


def test_three_dispatchers_do_no_more_than_one(instance, table):
    instance.wait_ready()
    for name in ("dispatcher-2", "dispatcher-3"):
        instance.add_dispatcher(name)
    try:
        instance.arm(FaultPoint.FILES_WRITTEN, kill("main"))
        jobs = [instance.ask("append", path=str(table))["job"] for _ in range(4)]
        for job in jobs:
            ends(instance, job, "succeeded")
        for job in jobs:
            told = [(kind, attempt) for _, kind, _, attempt, _ in instance.story(job)]
            assert len(told) == len(set(told)), "each transition of an attempt was made, and told, once"
    finally:
        for name in ("dispatcher-2", "dispatcher-3"):
            instance.remove(name)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_workers_clock_means_nothing(instance, table, hours):
    replace_worker(instance, LEVEE_TEST_CLOCK=str(hours * 3600))
    job = instance.ask("append", path=str(table), seconds=1.6 * instance.timing["lease"])["job"]
    assert ends(instance, job, "succeeded")["attempt"] == 1
    near = "select 1 from jobs_job where id = %s and finished_at between now() - interval '1 min' and now()"
    assert instance.rows(near, job)
    far = "select count(*) from jobs_logline where at not between now() - interval '1 hour' and now()"
    assert instance.rows(far) == [(0,)]
    instance.wait_ready()
    instance.arm(FaultPoint.FILES_WRITTEN, kill("child"))
    assert ends(instance, instance.ask("append", path=str(table))["job"], "succeeded")["attempt"] == 2


# --- another host: its death can't be proven ----------------------------------------------------------------------------


def test_a_frozen_worker_on_another_host_makes_its_job_stale_and_its_late_commit_known(instance, table):
    replace_worker(instance, LEVEE_TEST_HOST="elsewhere")
    child = instance.victims()["child"]
    instance.arm(FaultPoint.FILES_WRITTEN, {"do": "freeze", "victim": "child"})
    job = instance.ask("append", path=str(table))["job"]
    frozen_at = time.monotonic()
    stale = ends(instance, job, "stale")
    assert stale["version"] is None
    assert time.monotonic() - frozen_at > instance.timing["unproven"]
    os.kill(child, signal.SIGCONT)  # it wakes up after its job is over, and commits
    wait_for(lambda: instance.job(job)["version"] == 0, "the late commit is known", told=lambda: instance.story(job))
    assert "late_commit" in [s[1] for s in instance.story(job)]
