"""What was typed into a form is there again for who goes away and comes back; drawings of time begin at their newest end on a phone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Locator, Page, expect

from console.accounts.models import Person
from tables.models import Commit, Table
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.journeys.looks import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KEPT = "Object.keys(sessionStorage).filter(each => each.startsWith('levee-typed:')).length"
# One that the page has no more when somebody comes back.
ANOTHER_FORM = """() => {
  const [form, field] = ["form", "textarea"].map((each) => document.createElement(each));
  [form.method, form.id, field.name, field.value] = ["post", "another", "reason", "of another form"];
  form.append(field);
  document.querySelector("#main").prepend(form);
}"""


@pytest.fixture
def operator(transactional_db: None) -> Person:
    return factories.person_with("operator")


@pytest.fixture
def table(tmp_path: Path, operator: Person) -> Table:
    return lakes.log_alone(factories.RootFactory(uri=str(tmp_path)))


@pytest.fixture
def page(server: str, operator: Person, context: BrowserContext, faults: list[str]) -> Page:
    sign_in(context, server, operator, "light")
    return context.new_page()


def test_a_form_is_as_it_was_left(server: str, page: Page, table: Table, faults: list[str]) -> None:
    page.goto(f"{server}/tables/{table.pk}/delete/")
    reason = page.get_by_label("Reason", exact=True)
    reason.fill("Tenant 7 has left")
    page.goto(f"{server}/tables/{table.pk}/optimize/")
    page.get_by_label("Reason", exact=True).fill("many small files")
    page.goto(f"{server}/help/")
    page.go_back()
    expect(page.get_by_label("Reason", exact=True)).to_have_value("many small files")
    page.go_back()
    expect(reason).to_have_value("Tenant 7 has left")
    page.goto(f"{server}/tables/{table.pk}/delete/")
    expect(reason).to_have_value("")  # who comes anew finds a new form
    assert faults == []


def typed(page: Page, field: Locator, text: str) -> None:
    """Types it, and waits for what the page answers."""
    with page.expect_response("**/delete/preview/"):
        field.fill(text)
    expect(page.locator("[aria-busy]")).to_have_count(0)


def away_and_back(server: str, page: Page) -> None:
    page.goto(f"{server}/help/")
    page.go_back()


@pytest.mark.parametrize("field", ["Condition as text", "Value 1"])
def test_a_condition_comes_back_with_its_preview(
    server: str, page: Page, table: Table, field: str, faults: list[str]
) -> None:
    page.goto(f"{server}/tables/{table.pk}/delete/")
    condition = page.get_by_label("Condition as text")
    if field == "Value 1":
        typed(page, condition, "n > 1")
    typed(page, page.get_by_label(field), "n > 5" if field != "Value 1" else "5")
    expect(condition).to_have_value("n > 5")
    with page.expect_response("**/delete/preview/"):
        away_and_back(server, page)
    expect(condition).to_have_value("n > 5")
    expect(page.get_by_label("Value 1")).to_have_value("5")
    expect(page.locator("#delete-measures")).to_be_visible()
    assert faults == []


def test_a_condition_with_a_rule_that_is_not_filled_in_does_not_come_back(
    server: str, page: Page, table: Table, faults: list[str]
) -> None:
    """Its text lacks the rule: it would delete other rows."""
    page.goto(f"{server}/tables/{table.pk}/delete/")
    page.get_by_label("Reason", exact=True).fill("Tenant 7 has left")
    condition = page.get_by_label("Condition as text")
    typed(page, condition, "n > 5")
    typed(page, page.get_by_label("Value 1"), "")
    expect(page.locator("#rules-said")).to_contain_text("Rule 1: write a value")
    away_and_back(server, page)
    expect(page.get_by_label("Reason", exact=True)).to_have_value("Tenant 7 has left")
    expect(condition).to_have_value("")
    typed(page, condition, "n > 5")
    page.get_by_label("Value 1").fill("7")  # and away before the page has answered
    away_and_back(server, page)
    expect(page.get_by_label("Reason", exact=True)).to_have_value("Tenant 7 has left")
    expect(condition).to_have_value("")
    assert faults == []


def test_what_a_vacuum_is_to_keep_comes_back(server: str, page: Page, table: Table, faults: list[str]) -> None:
    page.goto(f"{server}/tables/{table.pk}/vacuum/")
    hours = page.get_by_label("Hours to keep")
    hours.fill("400")
    hours.blur()
    away_and_back(server, page)
    expect(hours).to_have_value("400")
    assert faults == []


def test_what_confirms_is_typed_each_time_and_each_form_gets_its_own(
    server: str, page: Page, tmp_path: Path, faults: list[str]
) -> None:
    table = lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))
    small_delta.append(Path(table.path), [{"id": 91, "p": "FR"}])
    syncing.sync(table.pk)
    page.goto(f"{server}/tables/{table.pk}/restore/?version=0")
    page.get_by_label("Reason", exact=True).fill("as it was")
    name = page.get_by_label("to confirm")
    name.fill(table.name)
    page.evaluate(ANOTHER_FORM)
    page.goto(f"{server}/help/")
    page.go_back()
    expect(page.get_by_label("Reason", exact=True)).to_have_value("as it was")
    expect(name).to_have_value("")
    assert faults == []


def test_it_is_nobody_else_s_and_goes_with_the_session(
    server: str, page: Page, context: BrowserContext, table: Table, faults: list[str]
) -> None:
    page.goto(f"{server}/tables/{table.pk}/delete/")
    page.get_by_label("Reason", exact=True).fill("Tenant 7 has left")
    page.goto(f"{server}/help/")
    assert page.evaluate(KEPT) == 1
    sign_in(context, server, factories.person_with("operator"), "light")
    page.go_back()
    expect(page.get_by_label("Reason", exact=True)).to_have_value("")
    other = context.new_page()
    other.goto(f"{server}/tables/{table.pk}/delete/")
    other.get_by_label("Reason", exact=True).fill("of the other tab")
    other.goto(f"{server}/help/")
    assert other.evaluate(KEPT) == 1
    page.goto(f"{server}/sign-out/")
    page.get_by_role("button", name="Sign out", exact=True).last.click()
    expect(page).to_have_url(f"{server}/sign-in/")
    assert page.evaluate(KEPT) == 0
    other.wait_for_function(f"() => {KEPT} === 0")
    assert faults == []


def test_a_drawing_of_time_shows_its_newest_end_first(server: str, page: Page, tmp_path: Path) -> None:
    now = timezone.now()
    table = lakes.sales_in(factories.RootFactory(name="another", uri=str(tmp_path / "another")))
    for number in (91, 92):
        small_delta.append(Path(table.path), [{"id": number, "p": "FR"}])
    syncing.sync(table.pk)
    for version, days in ((0, 60), (1, 30), (2, 1)):
        Commit.objects.filter(table=table, version=version).update(committed_at=now - timedelta(days=days))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{server}/tables/{table.pk}/history/")
    drawing = page.locator(".lv-scroll.lv-newest").first
    expect(drawing).to_be_visible()
    rest = "each => each.scrollWidth - each.clientWidth - each.scrollLeft"
    page.wait_for_function("() => document.querySelector('.lv-scroll.lv-newest').scrollLeft > 0")
    assert drawing.evaluate("each => each.scrollWidth > each.clientWidth")
    assert drawing.evaluate(rest) <= 1
