"""A store that goes away in the middle of a job: the job's end says what the table is, by reading it again, and until then it waits."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F

from console.audit.actor import Actor
from jobs.commands.convert.rules import Convert
from jobs.dispatcher.late_commits import LateCommits
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.errors import EngineLost
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Job, JobEvent, TableLease
from jobs.requests.asking import request
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Table
from tables.storage.objects import buckets as object_stores
from tests import factories
from tests.jobs.asking import request_delete
from tests.jobs.dispatcher.test_reconcile import dead_holder, lapse
from tests.jobs.engine.test_s3 import parquet
from tests.jobs.requester import approved

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_wakes")]
WAITS, READS = "log_unreadable", "log_readable"


def comes_back(store):
    store.door.refuses = None
    object_stores.ask_again(f"s3://{store.bucket}")  # by itself it would be asked half a minute later


def lost(job):
    claim = claim_run(dead_holder())
    assert claim is not None
    assert claim.job.pk == job.pk
    lapse(job)


def commit_for(store, job, version):
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": None})
    info = {"commitInfo": {"timestamp": 1, "operation": "WRITE", "userMetadata": mark}}
    store.put(f"orders/_delta_log/{version:020d}.json", json.dumps(info).encode())


def told(job):
    return list(JobEvent.objects.filter(job=job, kind__in=(WAITS, READS)).values_list("kind", flat=True))


def waits(job):
    """However often the dispatcher looks: it is said once, and nothing else may write the table."""
    for _ in range(3):
        reconcile()
    assert Job.objects.get(pk=job.pk).state == State.RECONCILING
    assert told(job) == [WAITS]
    assert TableLease.objects.filter(job=job).exists()
    rival = factories.job_on(job.table, job.requested_by)
    assert claim_run(dead_holder()) is None
    rival.delete()


@pytest.mark.parametrize("committed", [False, True])
def test_a_lost_run_waits_for_its_store_and_goes_by_what_lies_there_then(store, table, olga, committed):
    job = factories.job_on(table, olga, base_version=0)
    lost(job)
    if committed:
        commit_for(store, job, 1)
    store.door.refuses = (503, "ServiceUnavailable")
    waits(job)
    text = JobEvent.objects.get(job=job, kind=WAITS).text
    assert text.startswith("The table's log can't be read now: the store is overloaded")
    comes_back(store)
    reconcile()
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.version) == ((State.SUCCEEDED, 1) if committed else (State.QUEUED, None))
    assert told(job) == [WAITS, READS]


def test_a_commit_that_is_listed_and_can_not_be_read_may_be_the_jobs_own(store, table, olga):
    job = factories.job_on(table, olga, base_version=0)
    lost(job)
    commit_for(store, job, 1)
    inside = store.door.inside

    def no_objects(environ, start_response):
        if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"].endswith(".json"):
            start_response("500 no", [("Content-Length", "0")])
            return [b""]
        return inside(environ, start_response)

    store.door.inside = no_objects
    waits(job)
    store.door.inside = inside
    comes_back(store)
    reconcile()
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.version) == (State.SUCCEEDED, 1)


def test_whoever_cancels_a_job_that_waits_has_it_end_as_stale_and_its_commit_is_found_later(store, table, olga, timing):
    timing(unproven=0.001)
    job = factories.job_on(table, olga, base_version=0)
    lost(job)
    commit_for(store, job, 1)
    store.door.refuses = (503, "ServiceUnavailable")
    waits(job)
    move(job, State.CANCELLING, Cause.CANCELLER, "olga")
    JobEvent.objects.update(at=F("at") - timedelta(seconds=1))
    reconcile()
    row = Job.objects.get(pk=job.pk)
    assert (row.state, row.version) == (State.STALE, None)
    assert (row.error or {})["table_state"].startswith("Unknown")
    comes_back(store)
    assert LateCommits()() == 1
    assert Job.objects.get(pk=job.pk).version == 1


def test_nobody_waits_for_ever(store, table, olga, timing):
    timing(unreadable=0.001)
    job = factories.job_on(table, olga, base_version=0)
    lost(job)
    store.door.refuses = (503, "ServiceUnavailable")
    reconcile()
    JobEvent.objects.update(at=F("at") - timedelta(seconds=1))
    reconcile()
    assert Job.objects.get(pk=job.pk).state == State.STALE


def deletes(store, table, olga, engine) -> Job:
    return approved(request_delete(Actor.acting_for(olga), table.pk, "id < 4", "a test asks").job)


def converts(store, table, olga, engine) -> Job:
    """Of a directory beside the table."""
    store.put("raw/a.parquet", parquet(*range(4, 10)))
    raw = factories.TableFactory(root=table.root, name="raw", path=f"{store.uri}/raw", format=Table.Format.PARQUET)
    job = request(Actor.acting_for(olga), Convert(raw.path, None, "parquet", None), "a test asks").job
    claim = claim_preview(dead_holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), lambda: pytest.fail("Spark was ended")))
    return job


@pytest.mark.spark
@pytest.mark.xdist_group("engine")
@pytest.mark.parametrize("arrives", [False, True], ids=["before the commit", "after the commit"])
@pytest.mark.parametrize(("asks", "version"), [(deletes, 1), (converts, 0)], ids=["delete", "convert"])
def test_a_store_that_fails_around_the_commit(
    store, table, olga, engine, arrives, asks: Callable[..., Job], version: int
):
    """By real Spark: the store refuses everything from the commit's own request on, or from its answer on."""
    asked = asks(store, table, olga, engine)
    ended = []
    inside, door = store.door.inside, store.door

    def fails(environ, start_response):
        commits = environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].endswith(f"{version:020d}.json")
        if commits:
            door.inside, door.refuses = inside, (403, "InvalidAccessKeyId")
        return inside(environ, start_response) if not commits or arrives else door(environ, start_response)

    door.inside = fails
    claim = claim_run(dead_holder())
    assert claim is not None
    with pytest.raises(EngineLost):
        work(Execution(claim, engine, threading.Event(), lambda: ended.append(True)))
    assert ended, "Spark is ended before anybody looks for its commit"
    assert Job.objects.get(pk=asked.pk).state == State.RECONCILING
    waits(asked)
    comes_back(store)
    reconcile()
    if not arrives:
        assert Job.objects.get(pk=asked.pk).state == State.QUEUED
        again = claim_run(dead_holder())
        assert again is not None
        work(Execution(again, engine, threading.Event(), lambda: ended.append(True)))
    row = Job.objects.get(pk=asked.pk)
    assert (row.state, row.version, row.attempt) == (State.SUCCEEDED, version, 1 if arrives else 2)
    assert store.marks(row.location) == {str(asked.pk): [version]}
    assert sorted(store.read(row.location).to_pyarrow_table()["id"].to_pylist()) == list(range(4, 10))
