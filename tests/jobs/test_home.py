"""Home: what waits for me, what runs, and what others have to decide, each under its own head."""

from __future__ import annotations

import re

import pytest

from jobs.domain.policy import Policy
from jobs.models import Job, Stream
from tests import clock, factories
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


def polled(client, page):
    """The answer to a poll of a page or fragment."""
    [address] = re.findall(r'hx-get="(/home/now/[^"]*)"', page.content.decode())
    return client.get(address)


def test_an_open_page_is_answered_when_there_is_news_and_each_minute(monkeypatch):
    clock.replace(monkeypatch, "console.pages.home.views", time=lambda: 60.0)
    job, stream = (
        factories.job("running"),
        factories.stream(factories.TableFactory(), state="running", run_by=factories.PersonFactory()),
    )
    client = browser(factories.person_with("viewer"))
    page = client.get("/")
    assert polled(client, page).status_code == 204
    Job.objects.filter(pk=job.pk).update(progress={"stage": "writing", "done": 3, "total": 9})
    page = polled(client, page)
    assert "writing, 3 of 9" in page.content.decode()
    assert polled(client, page).status_code == 204
    Stream.objects.filter(pk=stream.pk).update(state_text="Waits for its source.")
    page = polled(client, page)
    assert "Waits for its source." in page.content.decode()
    assert polled(client, page).status_code == 204
    clock.replace(monkeypatch, "console.pages.home.views", time=lambda: 120.0)
    assert polled(client, page).status_code == 200


def test_what_open_pages_poll_keeps_the_focus_by_ids_of_its_own():
    factories.job("awaiting_approval", policy=Policy(1, "approver", ("Each delete.",)).as_json())
    approver = factories.person_with("approver")
    factories.job("awaiting_approval", requested_by=approver)
    for state in ("running", "queued", "succeeded"):
        factories.job(state, table=factories.TableFactory(health_codes=["x"]))
    factories.stream(factories.TableFactory(), state="failed", error={"code": "x", "message": "m"})
    home = browser(approver).get("/").content.decode()
    fragment = browser(approver).get("/home/now/").content.decode()
    links = re.findall(r"<(?:a|button|summary)\b[^>]*>", fragment)
    assert len(links) > 10
    assert [link for link in links if ' id="' not in link] == []
    ids = re.findall(r'\sid="([^"]+)"', home)
    assert sorted({name for name in ids if ids.count(name) > 1}) == []
