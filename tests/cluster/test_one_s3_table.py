"""Two workers, each with a Spark of its own, asked to write one table of an object store at once: there Sparks overwrite each other's
commits without an error, and only the lease of the table keeps them apart."""

import itertools

import pytest

from console.base.processes import start_ticks
from jobs.lifecycle.fault_points import FaultPoint
from tests.cluster.asked import QUIET_S, append, ends, ids, orders, settings
from tests.jobs.instance import Instance
from tests.patience import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

ATTEMPTS = """
select a.worker, a.outcome, a.pid, a.claimed_at, a.ended_at, a.start_ticks, a.jvm_pid, a.jvm_start_ticks
from jobs_attempt a join jobs_job j on j.id = a.job_id where j.location = %s and a.kind = 'run' order by a.claimed_at
"""


@pytest.fixture(scope="module")
def two(instance, cluster):
    """The instance with a second worker."""
    instance.add_worker("spark-2", **settings(cluster))
    instance.wait_ready("spark-2", QUIET_S)
    yield instance
    instance.remove("spark-2")


def one_at_a_time(instance: Instance, place: str) -> list[tuple]:
    """The table's attempts, which follow on each other by the database's clock, from claim to end."""
    rows = instance.rows(ATTEMPTS, place)
    for before, after in itertools.pairwise(rows):
        assert before[4] <= after[3], rows
    return rows


def test_of_two_workers_one_writes_at_a_time_and_every_commit_is_there_once(two, store):
    place, beside = orders(two, store, "orders"), orders(two, store, "beside")
    jobs = [append(two, place, seconds=3)]
    wait_for(lambda: two.job(jobs[0])["state"] == "running", "the first append runs", QUIET_S)
    jobs += two.ask("deletes", path=place, predicates=["id = 3", "id = 13"])["jobs"]
    jobs.append(append(two, place))
    ends(two, append(two, beside), "succeeded")
    versions = sorted(ends(two, job, "succeeded")["version"] for job in jobs)
    assert versions == [2, 3, 4, 5]
    assert store.marks(place) == {job: [two.job(job)["version"]] for job in jobs}
    assert ids(store, place) == sorted([n for n in range(20) if n not in (3, 13)] + [0, 1, 2] * 2)
    first, *_ = one_at_a_time(two, place)
    (other,) = two.rows(ATTEMPTS, beside)
    assert first[0] != other[0], "the other worker was free all the time"
    assert other[3] < first[4], "and took what it could"


def test_a_writer_that_lost_its_lease_commits_nothing_afterwards(two, store):
    """It is stopped between its claim and its commit, as a machine that sleeps; the other one goes on meanwhile."""
    place = orders(two, store, "frozen")
    two.arm(FaultPoint.SPARK_STARTED, {"do": "freeze", "victim": "self"})
    first = append(two, place)
    two.wait_fired(QUIET_S)
    second = append(two, place)
    for job in (first, second):
        ends(two, job, "succeeded")
    lost, again, last = one_at_a_time(two, place)
    assert [attempt[1] for attempt in (lost, again, last)] == ["lost", "succeeded", "succeeded"]
    assert again[0] != lost[0]
    assert start_ticks(lost[2]) != lost[5], "it is dead, and Spark with it"
    assert start_ticks(lost[6]) != lost[7]
    assert {job: len(versions) for job, versions in store.marks(place).items()} == {first: 1, second: 1}
    assert ids(store, place) == sorted([*range(20), 0, 1, 2, 0, 1, 2])
