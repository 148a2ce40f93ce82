"""A delete from its review to its undo in real browsers: decided by a second person, on a phone and by keyboard."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from playwright.sync_api import BrowserContext, Page, expect
from pytest_playwright import CreateContextCallback

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.models import Job
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Table
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.asking import request_delete
from tests.jobs.small_delta import SmallEngine

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = {"width": 390, "height": 844}


@pytest.fixture
def sales(tmp_path: Path, redis_server: str) -> Table:
    return lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))


@pytest.fixture
def olga() -> Person:
    return factories.person_with("operator")


@pytest.fixture
def anna() -> Person:
    return factories.person_with("approver")


def work_on(claiming: Callable[..., Any]) -> None:
    engine: Any = SmallEngine()
    claim = claiming(factories.holder())
    work(Execution(claim, engine, threading.Event(), engine.end_hard))


def asked(who: Person, table: Table) -> Job:
    made = request_delete(Actor.acting_for(who), table.pk, "p = 'FR' AND id < 5", "load test").job
    work_on(claim_preview)
    return made


def sign_in(page: Page, server: str, person: Person) -> None:
    page.goto(f"{server}/sign-in/")
    page.get_by_label("Name").fill(person.name)
    page.get_by_label("Password").fill(factories.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/sign-in/" not in url)


def state_of(job: Job) -> str:
    return Job.objects.values_list("state", flat=True).get(pk=job.pk)


def test_a_second_person_finds_looks_and_approves_on_a_phone(
    server: str,
    sales: Table,
    olga: Person,
    anna: Person,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    job = asked(olga, sales)
    page = context.new_page()
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    sign_in(page, server, anna)
    page.get_by_text("Menu", exact=True).click()
    page.get_by_role("navigation", name="Main, phone").get_by_role("link", name="Approvals 1").click()
    assert axe_findings(page) == []
    page.get_by_role("link", name="Review: Delete 2 rows from sales").click()
    page.get_by_text("The table is as it was measured.").wait_for()
    page.get_by_role("link", name="To your decision").click()
    page.get_by_label("Comment (optional)").fill("every row is of the load test")
    assert axe_findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Approve", exact=True).click()
    page.get_by_text("You have approved this version of the request.").wait_for()
    assert state_of(job) == "queued"
    assert faults == []


def test_an_open_review_follows_what_happens_and_keeps_what_is_typed(
    server: str,
    sales: Table,
    olga: Person,
    anna: Person,
    context: BrowserContext,
    new_context: CreateContextCallback,
    faults: list[str],
) -> None:
    job = asked(olga, sales)
    hers, his = context.new_page(), new_context().new_page()
    sign_in(hers, server, anna)
    hers.goto(f"{server}/jobs/{job.pk}/")
    comment = hers.get_by_label("Comment (optional)")
    comment.fill("half a sentence")
    sign_in(his, server, olga)
    his.goto(f"{server}/jobs/{job.pk}/")
    expect(his.get_by_text("You requested this, so another person decides.")).to_be_visible()
    his.get_by_label("Add a comment").fill("finance knows")
    his.get_by_role("button", name="Comment", exact=True).click()
    expect(hers.get_by_text("finance knows")).to_be_visible()
    expect(comment).to_have_value("half a sentence")
    expect(comment).to_be_focused()

    his.get_by_role("link", name="Edit the request").click()
    his.get_by_role("textbox", name="Rows where").fill("id = 3")
    his.get_by_role("button", name="Save and measure again").click()
    expect(hers.get_by_text("The request has changed since you opened this page.")).to_be_visible()
    expect(hers.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    work_on(claim_preview)
    hers.get_by_role("link", name="open it again").click()
    expect(hers.get_by_role("heading", name="Delete 1 row from sales")).to_be_visible()
    hers.get_by_role("button", name="Reject…").click()
    expect(hers.get_by_role("heading", name="Reject: Delete 1 row from sales?")).to_be_visible()
    hers.get_by_role("button", name=f"Reject as {anna.name}").click()
    expect(his.get_by_text("Rejected", exact=True).first).to_be_visible()
    assert state_of(job) == "rejected"
    assert faults == []


def test_an_old_password_leads_away_and_back_before_the_approval(
    server: str, sales: Table, olga: Person, anna: Person, context: BrowserContext, faults: list[str]
) -> None:
    job = asked(olga, sales)
    page = context.new_page()
    sign_in(page, server, anna)
    forget_passwords()
    page.goto(f"{server}/jobs/{job.pk}/")
    page.get_by_role("link", name="Approve…").click()
    page.get_by_label("Your password").fill(factories.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{server}/jobs/{job.pk}/")
    approve = page.get_by_role("button", name="Approve", exact=True)
    approve.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("You have approved this version of the request.")).to_be_visible()
    assert state_of(job) == "queued"
    assert faults == []


def test_a_session_that_ends_leaves_what_was_typed_and_the_page_goes_on_with_the_next_one(
    server: str, sales: Table, olga: Person, anna: Person, context: BrowserContext, faults: list[str]
) -> None:
    job = asked(olga, sales)
    page = context.new_page()
    sign_in(page, server, anna)
    page.clock.install()
    page.goto(f"{server}/jobs/{job.pk}/")
    comment = page.get_by_label("Comment (optional)")
    comment.fill("half a sentence")
    Session.objects.all().delete()
    page.clock.fast_forward(11_000)
    notice = page.get_by_role("link", name="sign in in a new tab")
    expect(notice).to_have_count(1)
    expect(comment).to_have_value("half a sentence")
    page.clock.fast_forward(11_000)
    expect(notice).to_have_count(1)

    with context.expect_page() as opened:
        notice.click()
    opened.value.get_by_label("Name").fill(anna.name)
    opened.value.get_by_label("Password").fill(factories.PASSWORD)
    opened.value.keyboard.press("Enter")
    opened.value.wait_for_url(f"{server}/jobs/{job.pk}/")
    opened.value.close()
    page.clock.fast_forward(11_000)
    expect(notice).to_have_count(0)
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("You have approved this version of the request.")).to_be_visible()
    assert state_of(job) == "queued"
    assert job.decisions.get().comment == "half a sentence"
    assert faults == []


def forget_passwords() -> None:
    """As if they had been given long ago."""
    for stored in Session.objects.all():
        session = SessionStore(stored.session_key)
        session["confirmed_at"] = 0.0
        session.save()


def test_a_run_is_followed_to_its_result_and_undone(
    server: str,
    sales: Table,
    olga: Person,
    anna: Person,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    job = asked(olga, sales)
    page = context.new_page()
    sign_in(page, server, anna)
    page.goto(f"{server}/jobs/{job.pk}/")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("You have approved this version of the request.")).to_be_visible()
    work_on(claim_run)
    expect(page.get_by_role("heading", name="Result beside the prediction")).to_be_visible()
    assert small_delta.head(Path(sales.path)) == 1
    assert axe_findings(page) == []

    small_delta.append(Path(sales.path), [{"id": 50, "p": "DE"}])
    context.clear_cookies()
    sign_in(page, server, olga)
    page.goto(f"{server}/jobs/{job.pk}/")
    page.get_by_role("link", name="Undo…").click()
    page.get_by_label("Reason").fill("the wrong rows")
    page.get_by_role("button", name="Request undo").click()
    expect(page.get_by_text("undoes later commits as well: 2")).to_be_visible()
    page.get_by_label("version 2").check()
    page.get_by_role("button", name="Request undo").click()
    expect(page.get_by_role("heading", name="Restore sales to version 0")).to_be_visible()
    work_on(claim_preview)
    expect(page.get_by_role("link", name="version 1", exact=True)).to_be_visible()
    assert axe_findings(page) == []
    assert faults == []
