"""An auditor's way through the audit over a real lake: from home to a commit that nobody approved, its acknowledgement and its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect

from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.integrity import chain, heads
from jobs.dispatcher.attribution import explain_commits
from tables.catalog.adding import additions
from tables.catalog.roots import entries as roots
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def ida(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """An auditor and operator, and a table that another engine has deleted from."""
    monkeypatch.setattr(heads, "heads_file", lambda: tmp_path / "heads.jsonl")
    person = factories.person_named("ida", Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
    (tmp_path / "lake").mkdir()
    lakes.delta(tmp_path / "lake" / "orders", {"id": [1, 2, 3]})
    actor = Actor.acting_for(person)
    roots.add_root(actor, "lake", str(tmp_path / "lake"))
    table = additions.add_table(actor, str(tmp_path / "lake" / "orders")).table
    DeltaTable(table.path).delete("id = 1")
    syncing.sync(table.pk)
    explain_commits()
    chain.seal_waiting()
    return person


def signed_in(context: BrowserContext, server: str, person: Person) -> Page:
    client = Client()
    client.force_login(person)
    cookies = [{"name": name, "value": morsel.value, "url": server} for name, morsel in client.cookies.items()]
    context.add_cookies(cookies)  # type: ignore[arg-type]
    return context.new_page()


def test_a_commit_that_nobody_approved_is_followed_acknowledged_and_on_record(
    server: str, ida: Person, context: BrowserContext, faults: list[str], axe_findings: Callable[[Page], list[str]]
) -> None:
    page = signed_in(context, server, ida)
    page.goto(server)
    assert axe_findings(page) == []
    page.get_by_role("link", name="orders v1").first.click()
    page.get_by_label("What is it?").fill("the nightly clean-up of finance")
    assert axe_findings(page) == []
    page.get_by_role("button", name="Acknowledge").click()
    page.get_by_text("acknowledged it").wait_for()
    page.goto(server)
    assert page.get_by_text("Commits to acknowledge").count() == 0
    page.get_by_role("link", name="Audit").first.click()
    page.get_by_label("Words of the reason").fill("nightly clean-up")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("tbody a.lv-name").click()
    page.get_by_role("heading", name="ida acknowledged a commit").wait_for()
    assert axe_findings(page) == []
    assert faults == []


def test_the_audit_is_verified_by_a_button(
    server: str, ida: Person, context: BrowserContext, faults: list[str], axe_findings: Callable[[Page], list[str]]
) -> None:
    page = signed_in(context, server, ida)
    page.goto(f"{server}/audit/")
    page.get_by_role("link", name="Verify").click()
    page.get_by_role("button", name="Verify now").click()
    page.get_by_role("heading", name="The audit is unchanged").wait_for()
    assert axe_findings(page) == []
    assert faults == []
