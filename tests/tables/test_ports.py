"""Who asked for the commits that jobs made: on the history's lines, on a commit's page, and in the filter."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.domain.states import State
from jobs.models import Decision, Job
from tables.catalog.adding import additions
from tables.models import Commit, Root, Table
from tests import factories
from tests.tables.web.table.test_pages import page

Write = Callable[..., Path]
pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(admin: Actor, root: Root, write: Write) -> Table:
    for _ in range(3):
        write(mode="append")
    return additions.add_table(admin, f"{root.uri}/orders").table


@pytest.fixture
def vic(person: Callable[..., Person], orders: Table) -> Client:
    """A viewer of this one table."""
    client = Client()
    client.force_login(person("vic", Role.VIEWER, table=orders))
    return client


def job_at(table: Table, version: int, asker: Person, **changes: object) -> Job:
    """A job of the person's that ended with the version, and whose mark the commit carries."""
    job = factories.job(
        State.SUCCEEDED, table=table, requested_by=asker, reason="retention of a year", version=version, **changes
    )
    Commit.objects.filter(table=table, version=version).update(job=job.pk)
    return job


def test_the_history_says_who_asked_for_a_commit_and_who_approved_it(
    vic: Client, orders: Table, person: Callable[..., Person]
) -> None:
    job = factories.job(State.AWAITING_APPROVAL, table=orders, requested_by=person("ana"), reason="retention of a year")
    Decision.objects.create(
        job=job, person=person("marc"), decision="approve", digest=job.digest or "", comment="Fine."
    )
    job.version = 1
    job.save(update_fields=["version"])
    Commit.objects.filter(table=orders, version=1).update(job=job.pk)
    for address in ("history/", "commits/1/"):
        html = page(vic, f"/tables/{orders.pk}/{address}")
        for text in ("ana", "marc", "retention of a year", f"/jobs/{job.pk}/"):
            assert text in html, (address, text)


def test_commits_are_found_by_who_asked_for_their_job(
    vic: Client, orders: Table, person: Callable[..., Person]
) -> None:
    job = job_at(orders, 1, person("ana"))
    assert _versions(page(vic, f"/tables/{orders.pk}/history/?by=Ana")) == ["1"]
    assert _versions(page(vic, f"/tables/{orders.pk}/history/?by=bob")) == []
    found = vic.get(f"/api/v1/tables/{orders.pk}/history?by=ana").json()["results"]
    assert [commit["job"] for commit in found] == [str(job.pk)]


def test_a_mark_that_another_job_carries_is_nobodys_commit(
    vic: Client, orders: Table, person: Callable[..., Person]
) -> None:
    job = job_at(orders, 1, person("ana"))
    Commit.objects.filter(table=orders, version=2).update(job=job.pk)
    assert _versions(page(vic, f"/tables/{orders.pk}/history/?by=ana")) == ["1"]
    assert "The commit names" in page(vic, f"/tables/{orders.pk}/commits/2/")


def test_commits_are_found_by_the_job_that_they_name(vic: Client, orders: Table, person: Callable[..., Person]) -> None:
    job = job_at(orders, 1, person("ana"))
    for text in (str(job.pk), str(job.pk)[:8], str(job.pk).upper()):
        assert _versions(page(vic, f"/tables/{orders.pk}/history/?job={text}")) == ["1"]
    for text in ("zzz", "-", "f" * 36, str(uuid.uuid4())):
        assert _versions(page(vic, f"/tables/{orders.pk}/history/?job={text}")) == []


def test_a_job_that_never_was_or_that_the_person_may_not_see_is_no_link(
    vic: Client, orders: Table, person: Callable[..., Person], admin: Actor, root: Root, write: Write
) -> None:
    elsewhere = additions.add_table(admin, str(write("elsewhere"))).table
    hidden = factories.job(State.SUCCEEDED, table=elsewhere, requested_by=person("ana"), version=0)
    for job in (uuid.uuid4(), hidden.pk):
        Commit.objects.filter(table=orders, version=1).update(job=job)
        for address in ("history/", "commits/1/"):
            html = page(vic, f"/tables/{orders.pk}/{address}")
            assert f"job {str(job)[:8]}" in html
            assert f"/jobs/{job}/" not in html


def test_the_overview_lists_what_is_asked_for_and_has_not_ended(
    vic: Client, orders: Table, person: Callable[..., Person], admin: Actor, root: Root, write: Write
) -> None:
    assert "Open requests" not in page(vic, f"/tables/{orders.pk}/")
    asker = person("ana")
    waiting = factories.job(State.AWAITING_APPROVAL, table=orders, requested_by=asker)
    job_at(orders, 1, asker)
    elsewhere = additions.add_table(admin, str(write("elsewhere"))).table
    hidden = factories.job(State.AWAITING_APPROVAL, table=elsewhere, requested_by=asker)
    html = page(vic, f"/tables/{orders.pk}/")
    rail = html[html.index("Open requests") :].split("</section>")[0]
    assert rail.count("<li>") == 1
    assert f"/jobs/{waiting.pk}/" in rail
    assert "Waiting for approval" in rail
    assert str(hidden.pk) not in html


def _versions(html: str) -> list[str]:
    """The versions that a history lists."""
    return [part.split("<")[0] for part in html.split('class="lv-name" href="')[1:] for part in [part.split('">')[1]]]
