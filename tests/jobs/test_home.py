"""Home: what waits for me, what runs, and what others have to decide, each under its own head."""

from __future__ import annotations

import pytest

from jobs.domain.policy import Policy
from tests import factories
from tests.clients import browser

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["previewing", "queued", "running", "cancelling", "reconciling"])
def test_what_goes_on_runs(state):
    factories.job(state)
    page = browser(factories.person_with("viewer")).get("/")
    assert [job["state"] for job in page.context["running"]] == [state]
    assert page.context["undecided"] == []


def test_what_waits_for_an_approval_does_not_run():
    job = factories.job("awaiting_approval")
    page = browser(factories.person_with("viewer")).get("/")
    assert page.context["running"] == []
    assert [row["id"] for row in page.context["undecided"]] == [job.pk]
    assert "Waiting for others" in page.content.decode()


def test_what_waits_for_me_is_said_once():
    factories.job("awaiting_approval", policy=Policy(1, "approver", ("Each delete.",)).as_json())
    context = browser(factories.person_with("approver")).get("/").context
    assert (len(context["waiting"]), context["undecided"]) == (1, [])
