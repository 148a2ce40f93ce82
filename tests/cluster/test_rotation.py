"""A bucket's credential is changed while a worker and its executors run: each executor has a connection of its own with the old one."""

import time

import pytest

from tables.catalog.roots.object_stores import KEPT_SECONDS
from tests.cluster.asked import append, ends, ids, orders

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

SECOND, THIRD = "AKIATESTSSECONDKEY45", "AKIATESTSTHIRDKEY678"


def rotate(instance, store, key):
    """From now on this key alone is let in, and Levee knows it."""
    store.door.keys = {key}
    changed = instance.ask("change_storage", bucket=store.uri, storage=store.storage(key_id=key, secret=f"of-{key}"))
    assert changed == {}
    time.sleep(KEPT_SECONDS)
    store.door.keys_seen.clear()


def test_a_new_key_counts_on_executors_for_the_next_job_without_a_restart(instance, cluster, store):
    place = orders(instance, store, "rotated")
    ends(instance, append(instance, place), "succeeded")
    # It changes nothing, so that Delta keeps the state of this very version on the executor.
    (nothing,) = instance.ask("deletes", path=place, predicates=["country = 'EE'"])["jobs"]
    assert ends(instance, nothing, "succeeded")["no_op"]
    jvm, executors = instance.victims()["jvm"], cluster.executors("worker-1")
    assert len(executors) == 1
    rotate(instance, store, SECOND)
    jobs = instance.ask("deletes", path=place, predicates=["id = 3"])["jobs"] + [append(instance, place)]
    assert [ends(instance, job, "succeeded")["attempt"] for job in jobs] == [1, 1]
    assert store.door.keys_seen == {SECOND}
    assert ids(store, place) == sorted([*(n for n in range(20) if n != 3), 0, 1, 2, 0, 1, 2])
    assert instance.victims()["jvm"] == jvm
    assert len(cluster.executors("worker-1")) == 1
    assert cluster.executors("worker-1") != executors


@pytest.mark.long
def test_a_new_key_counts_even_where_the_master_was_away_and_replaced_nothing(instance, cluster, store):
    """The worker starts another Spark, which waits for the master; the job's second attempt succeeds there."""
    place = orders(instance, store, "unreplaced")
    ends(instance, append(instance, place), "succeeded")
    jvm = instance.victims()["jvm"]
    cluster.kill("master")
    try:
        rotate(instance, store, THIRD)
        job = append(instance, place)
        instance.wait_state(job, "running")
        instance.wait_state(job, "queued")
    finally:
        cluster.start_master()
    assert ends(instance, job, "succeeded")["attempt"] == 2
    assert store.door.keys_seen == {THIRD}
    assert instance.victims()["jvm"] != jvm
    assert ids(store, place) == sorted([*range(20), 0, 1, 2, 0, 1, 2])
