"""The delete page with its script, in a real browser, by keyboard: both sides keep in step and nothing typed is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from console.accounts.models import Person
from jobs.models import Job
from tables.models import Table
from tests import factories
from tests.factories import lakes
from tests.journeys.looks import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def operator(transactional_db: None) -> Person:
    return factories.person_with("operator")


@pytest.fixture
def table(tmp_path: Path, operator: Person) -> Table:
    return lakes.log_alone(factories.RootFactory(uri=str(tmp_path)))


@pytest.fixture
def page(server: str, table: Table, operator: Person, context: BrowserContext, faults: list[str]) -> Page:
    """The delete page, signed in."""
    sign_in(context, server, operator, "light")
    found = context.new_page()
    found.goto(f"{server}/tables/{table.pk}/delete/")
    return found


def preview(page: Page) -> str:
    return page.locator("#h-preview").inner_text()


@contextmanager
def answered(page: Page) -> Iterator[None]:
    """Until what is asked inside has been answered and put in place: what is typed before would go to a field that is being replaced."""
    with page.expect_response("**/delete/preview/"):
        yield
    expect(page.locator("[aria-busy]")).to_have_count(0)


# As soon as the comparisons of the chosen column have come, whoever is quick chooses one.
CHOOSE_AT_ONCE = """new MutationObserver((_, watch) => {
  const comparison = document.getElementById("rule-1-operator");
  if ([...comparison.options].some((option) => option.value === ">")) {
    watch.disconnect();
    comparison.value = ">";
    comparison.dispatchEvent(new Event("change", {bubbles: true}));
  }
}).observe(document.getElementById("delete-condition"), {childList: true, subtree: true})"""
# The heights of the preview as it is put in place, before anything is drawn.
NOTE_HEIGHTS = """() => {
  window.heights = [];
  new MutationObserver(() => heights.push(document.getElementById("delete-preview").offsetHeight))
    .observe(document.getElementById("delete"), {childList: true, subtree: true});
}"""


def test_what_has_just_been_put_in_place_hears_the_next_choice(page: Page, faults: list[str]) -> None:
    page.evaluate(CHOOSE_AT_ONCE)
    with page.expect_request(lambda request: "operator=%3E" in (request.post_data or "")):
        page.select_option("#rule-1-column", "n")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    assert faults == []


def test_rules_and_text_follow_each_other_while_somebody_types(page: Page, faults: list[str]) -> None:
    with answered(page):
        page.select_option("#rule-1-column", "n")
    with answered(page):
        page.select_option("#rule-1-operator", ">")
    page.locator("#rule-1-value").press_sequentially("15")
    expect(page.locator("#text")).to_have_value("n > 15")
    expect(page.locator("#h-preview")).to_contain_text("at most 20 rows in 1 of 2 files")
    expect(page.locator("#rule-1-value")).to_be_focused()
    expect(page.locator("#delete-needs")).to_contain_text("Needs 1 approval")

    page.locator("#text").press("End")
    page.locator("#text").press_sequentially(" AND country IN ('DE', 'FR')", delay=20)
    expect(page.locator("#rule-2-value")).to_have_value("DE, FR")
    expect(page.locator("#text")).to_be_focused()
    expect(page.locator("#text")).to_have_value("n > 15 AND country IN ('DE', 'FR')")

    expect(page.locator("[aria-busy]")).to_have_count(0)
    before = page.locator("#delete-preview").evaluate("preview => preview.offsetHeight")
    page.evaluate(NOTE_HEIGHTS)
    page.locator("#text").press_sequentially(" OR", delay=20)
    expect(page.locator("#delete-said")).to_contain_text("Position")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    heights = page.evaluate("heights")
    assert heights, "the page doesn't jump while a condition is half typed"
    assert heights == pytest.approx([before] * len(heights), abs=1)
    expect(page.locator("#delete-rules")).to_contain_text("come back when the text is valid")
    page.locator("#rule-clear").press("Enter")
    expect(page.locator("#rule-1-column")).to_have_value("")
    expect(page.locator("#text")).to_have_value("")
    assert faults == []


def test_a_rule_with_two_values_is_added_and_removed_by_keyboard(page: Page, faults: list[str]) -> None:
    with answered(page):
        page.locator("#rule-add").press("Enter")
    with answered(page):
        page.select_option("#rule-2-column", "born")
    with answered(page):
        page.select_option("#rule-2-operator", "between")
    with answered(page):
        page.locator("#rule-2-value").fill("2026-10-01")
    page.locator("#rule-2-until").fill("2026-10-14")
    expect(page.locator("#text")).to_have_value("born BETWEEN DATE '2026-10-01' AND DATE '2026-10-14'")
    page.locator("#rule-1-drop").press("Enter")
    expect(page.locator("#rule-2-column")).to_have_count(0)
    expect(page.locator("#rule-1-until")).to_have_value("2026-10-14")
    assert faults == []


def test_enter_in_a_field_asks_for_nothing(page: Page) -> None:
    page.locator("#text").fill("n > 15")
    expect(page.locator("#rule-1-value")).to_have_value("15")
    page.locator("#rule-1-value").press("Enter")
    expect(page.locator("#text")).to_have_value("n > 15")
    assert preview(page).startswith("Preview: at most 20 rows")
    assert not Job.objects.exists()


def test_every_row_is_asked_for_by_name(page: Page, faults: list[str]) -> None:
    page.locator("#text").fill("n > 15")
    expect(page.locator("#rule-1-value")).to_have_value("15")
    page.locator("#reason").fill("closed")
    page.check("#whole")
    expect(page.locator("#delete-condition")).to_contain_text("This deletes all rows of table.")
    expect(page.locator("#h-preview")).to_contain_text("30 rows in 2 of 2 files")
    page.uncheck("#whole")
    expect(page.locator("#rule-1-value")).to_have_value("15")
    with answered(page):
        page.check("#whole")
    page.locator("#name").fill("table")
    expect(page.locator("#reason")).to_have_value("closed")
    page.locator("#request").press("Enter")
    page.wait_for_url("**/jobs/*/")
    assert Job.objects.get().parameters["predicate"] is None
    assert faults == []
