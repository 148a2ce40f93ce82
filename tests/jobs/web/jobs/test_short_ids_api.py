"""The beginning of a job's id, as pages show it, in the addresses of the API and in the questions about the audit."""

from __future__ import annotations

from typing import Any

import pytest

from console.audit import queries
from console.audit.queries import EventFilter
from console.base.text.short_ids import begins_an_id, ids_from
from jobs.models import Job
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    return factories.job("awaiting_approval")


def test_an_address_of_a_job_takes_the_beginning_of_its_id(job: Job) -> None:
    asked = caller("viewer")
    for length in (8, 12, 35):
        answer = asked.get(f"/jobs/{str(job.pk)[:length]}")
        assert (answer.status_code, answer.json()["id"]) == (200, str(job.pk))
    assert asked.get(f"/jobs/{str(job.pk)[:8]}/events").json() == asked.get(f"/jobs/{job.pk}/events").json()
    assert asked.get(f"/jobs/{str(job.pk)[:7]}").status_code == 404
    assert asked.get(f"/jobs/{str(job.pk)[:8]}/nothing").status_code == 404


def test_an_act_by_it_asks_for_what_the_act_asks_for(job: Job) -> None:
    short = str(job.pk)[:8]
    factories.GrantFactory(person=job.requested_by, role="operator")
    assert caller("viewer").post(f"/jobs/{short}/cancel").status_code == 403
    assert Caller(job.requested_by, "read").post(f"/jobs/{short}/comment", {"comment": "x"}).status_code == 403
    assert Caller(job.requested_by).post(f"/jobs/{short}/approve", {"digest": "x"}).json()["code"] == "not_your_own"
    answer = Caller(job.requested_by).post(f"/jobs/{short}/comment", {"comment": "as pages show it"})
    assert answer.status_code == 200, answer.content
    assert job.events.filter(text__contains="as pages show it").exists()


def test_a_session_s_act_by_it_needs_the_csrf_token(job: Job) -> None:
    factories.GrantFactory(person=job.requested_by, role="operator")
    client = browser(job.requested_by)
    client.handler.enforce_csrf_checks = True
    answer = client.post(f"/api/v1/jobs/{str(job.pk)[:8]}/comment", {"comment": "x"}, content_type="application/json")
    assert answer.status_code == 403


def test_what_one_may_not_see_is_not_found_by_its_beginning(job: Job) -> None:
    other = caller("viewer", root=factories.RootFactory())
    assert other.get(f"/jobs/{str(job.pk)[:8]}").status_code == 404


def test_of_several_that_begin_so_none_is_meant() -> None:
    jobs = [factories.job("queued", pk=f"abcdef01-0000-4000-8000-00000000000{n}") for n in range(2)]
    answer = caller("viewer").get("/jobs/abcdef01")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert all(str(each.pk) in answer.json()["detail"] for each in jobs)
    assert caller("viewer").get(f"/jobs/{str(jobs[1].pk)[:-1]}").status_code == 404, "it is the beginning of both"


def test_the_audit_of_a_job_is_found_by_it(job: Job) -> None:
    person = factories.person_with("auditor")
    Caller(factories.appointed()).post(f"/jobs/{job.pk}/comment", {"comment": "hm"})
    whole = events(EventFilter(job=str(job.pk)))
    assert whole
    short = str(job.pk)[:8]
    for wanted in (
        EventFilter(job=short),
        EventFilter(object=f"job:{short}"),
        EventFilter(object=short),
        EventFilter(object=f"job:{job.pk}"),
    ):
        assert events(wanted) == whole, wanted
    assert events(EventFilter(job="00000000")) == []
    answer = Caller(person).get("/audit", job=short)
    assert {row["id"] for row in answer.json()["results"]} == {str(each) for each in whole}
    assert Caller(person).get("/audit", job="zz").status_code == 400
    assert short in browser(person).get("/audit/", {"object": short}).content.decode()


def events(wanted: EventFilter) -> list[Any]:
    person = factories.person_with("auditor")
    return list(wanted.apply(queries.visible_to(person)).order_by("pk").values_list("pk", flat=True))


def test_what_begins_an_id() -> None:
    assert all(map(begins_an_id, ("3582c178", "3582c178-1")))
    assert not any(map(begins_an_id, ("3582c17", "orders", "3582c178 ", "")))
    assert ids_from("3582c178") is not None
    assert ids_from("x") is None
