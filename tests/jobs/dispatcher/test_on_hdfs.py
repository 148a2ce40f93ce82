"""A table on HDFS: a delete from its request to its end, by real Spark, and a lost job's commit that is found later."""

import json
import threading

import pytest
from django.utils import timezone

from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.dispatcher.late_commits import LateCommits
from jobs.domain.states import State
from jobs.models import Job
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.catalog.roots import entries as roots
from tables.deltalog.replay.log import open_log
from tests import factories
from tests.jobs.asking import request_delete

pytestmark = [
    *(pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_wakes")),
    *(pytest.mark.spark, pytest.mark.xdist_group("engine")),
]


@pytest.fixture
def table(on_hdfs, olga, tmp_path):
    ines = Actor.acting_for(factories.appointed("ines", Role.ADMIN))
    root = roots.add_root(ines, "hadoop", on_hdfs.uri)
    return factories.TableFactory(root=root, name="orders", path=on_hdfs.delta("orders", tmp_path / "orders", 10))


def worked(engine, claiming) -> Job:
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), lambda: pytest.fail("Spark was ended")))
    return Job.objects.get(pk=claim.job.pk)


def test_a_delete_is_asked_for_counted_approved_and_run(table, olga, engine):
    asked = request_delete(Actor.acting_for(olga), table.pk, "id < 4 AND country = 'DE'", "a test asks").job
    counted = worked(engine, claim_preview)
    assert (counted.pk, counted.state) == (asked.pk, State.AWAITING_APPROVAL)
    assert counted.preview is not None
    assert counted.digest is not None
    assert (counted.preview["rows_matched"], counted.preview["rows_matched_exact"]) == (2, True)
    decisions.approve(Actor.acting_for(factories.appointed("anna", Role.APPROVER)), counted, counted.digest)
    done = worked(engine, claim_run)
    assert (done.pk, done.state, done.version) == (asked.pk, State.SUCCEEDED, 1)
    assert done.result is not None
    assert done.result["num_affected_rows"] == 2
    assert open_log(table.path).head_version() == 1


def test_a_commit_that_came_after_its_job_had_ended_is_found(table, olga, on_hdfs):
    now = timezone.now()
    ended = {"error": {"code": "x"}, "claimed_at": now, "finished_at": now}
    job = factories.job_on(table, olga, state=State.STALE, base_version=0, **ended)
    assert LateCommits()() == 0
    mark = json.dumps({"job": str(job.pk), "attempt": 1, "digest": None})
    info = {"commitInfo": {"timestamp": 1, "operation": "WRITE", "userMetadata": mark}}
    on_hdfs.put(f"orders/_delta_log/{1:020d}.json", json.dumps(info).encode())
    assert LateCommits()() == 1
    assert Job.objects.get(pk=job.pk).version == 1
