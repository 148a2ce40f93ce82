"""What Levee itself does agrees with itself: a delete asked for, approved, run and undone leaves nothing to explain."""

import threading
from typing import Any

import pytest

from console.audit.integrity import chain, verification
from console.audit.models import Event
from jobs.dispatcher.attribution import explain_commits
from jobs.evidence.consistency import differences
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Explanation
from tables.sync import table as syncing
from tests import factories
from tests.clients import Caller, caller
from tests.factories import lakes
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    def wake(queue: str) -> bool:
        return True

    monkeypatch.setattr("jobs.lifecycle.wakeups.wake", wake)


@pytest.fixture
def sales(tmp_path):
    return syncing.sync(lakes.sales_in(factories.RootFactory(uri=str(tmp_path))).pk)


def work_on(claiming: Any) -> None:
    engine: Any = SmallEngine()
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))


def run(asked: Any, who: Caller, approver: Caller) -> dict[str, Any]:
    """A request, previewed, approved and run; the job as it ended."""
    assert asked.status_code == 201, asked.content
    job = asked.json()["id"]
    work_on(claim_preview)
    digest = who.get(f"/jobs/{job}").json()["digest"]
    assert approver.post(f"/jobs/{job}/approve", {"digest": digest}).status_code == 200
    work_on(claim_run)
    found: dict[str, Any] = who.get(f"/jobs/{job}").json()
    assert found["state"] == "succeeded", found
    return found


def test_a_delete_and_its_undo_leave_nothing_to_explain(sales):
    operator, approver = caller("operator"), caller("approver")
    body = {"command": "delete", "table": str(sales.pk), "predicate": "p = 'FR'", "reason": "old"}
    done = run(operator.post("/jobs", body), operator, approver)
    run(operator.post(f"/jobs/{done['id']}/undo", {"reason": "too much"}), operator, approver)
    syncing.sync(sales.pk)
    explain_commits()
    verdicts = dict(Explanation.objects.values_list("version", "verdict"))
    assert verdicts == {1: "approved", 2: "approved"}
    assert [finding.text for finding in differences()] == []
    chain.seal_waiting()
    whole = verification.verify("tests", more=differences)
    assert whole.problems == []


def test_every_event_of_a_jobs_life_is_about_its_table(sales):
    operator, approver = caller("operator"), caller("approver")
    body = {"command": "delete", "table": str(sales.pk), "predicate": "p = 'FR'", "reason": "old"}
    done = run(operator.post("/jobs", body), operator, approver)
    events = Event.objects.filter(job=done["id"])
    assert {event.action for event in events} >= {"job.request", "job.approve", "job.start", "job.end"}
    assert {event.table_id for event in events} == {sales.pk}


def test_a_refused_decision_is_in_the_story_of_its_job_and_table(sales):
    operator = caller("operator")
    body = {"command": "delete", "table": str(sales.pk), "predicate": "p = 'FR'", "reason": "old"}
    job = operator.post("/jobs", body).json()["id"]
    work_on(claim_preview)
    digest = operator.get(f"/jobs/{job}").json()["digest"]
    factories.GrantFactory(person=operator.person, role="approver")
    assert operator.post(f"/jobs/{job}/approve", {"digest": digest}).status_code == 403
    refused = Event.objects.get(action="job.approve", outcome="refused")
    assert (str(refused.job), refused.table_id) == (job, sales.pk)
