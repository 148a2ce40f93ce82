"""By keyboard alone, in a real browser: from anywhere to a table, through a list, to a decision that is asked once more."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Error, Page, Route, expect

from console.accounts import lists
from console.accounts.models import Person
from console.accounts.sign_in import step_up
from console.audit.actor import Actor
from jobs.approvals import decisions
from jobs.models import Job
from jobs.web.kinds import JOBS
from tables.sync import table as syncing
from tests import factories
from tests.factories import lakes
from tests.jobs import small_delta
from tests.journeys.test_review_story import asked, sign_in, state_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
Axe = Callable[[Page], list[str]]
ASKED = re.compile(r"/find/\?")


def clean(page: Page, axe: Axe) -> None:
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert axe(page) == [], theme


def active(page: Page) -> str:
    """The text of the option that the combobox names as active."""
    name = page.get_by_role("combobox", name="Find anything").get_attribute("aria-activedescendant")
    return page.locator(f"#{name} .lv-option-text").inner_text()


def test_a_reviewer_goes_everywhere_by_keys(
    server: str,
    tmp_path: Path,
    redis_server: str,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Axe,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sales = lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))
    small_delta.append(tmp_path / "sales", [{"id": 9, "p": "DE"}])
    syncing.sync(sales.pk)
    olga = factories.person_with("operator")
    job = asked(olga, sales)
    anna = factories.person_with("approver")
    lists.save_filter(anna, JOBS, "Failed lately", "state=failed", pinned=True)
    page = context.new_page()
    sign_in(page, server, anna)
    keys = page.keyboard

    # The palette: the table of that name is first among tables, and Enter opens what is active, however fast it comes.
    keys.press("/")
    field = page.get_by_role("combobox", name="Find anything")
    expect(field).to_be_focused()
    keys.type("sales")
    expect(page.locator("#palette-count")).to_have_text("2 results")
    assert active(page) == "sales"
    keys.press("ArrowDown")
    assert active(page) != "sales"
    keys.press("ArrowUp")
    clean(page, axe_findings)
    keys.press("Escape")
    expect(field).to_be_hidden()
    keys.press("Control+k")
    keys.type("sales")
    keys.press("Enter")
    page.wait_for_url(f"{server}/tables/{sales.pk}/")

    # On a table's page its own pages come first; what was last opened stands there before a question.
    keys.press("Control+k")
    expect(page.get_by_role("group", name="Last opened").get_by_role("option", name="sales")).to_be_visible()
    keys.type("histo")
    expect(page.get_by_role("group", name="On sales").get_by_role("option")).to_have_count(1)
    keys.press("Enter")
    page.wait_for_url(f"{server}/tables/{sales.pk}/history/")

    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts").get_by_role("link", name="Approvals")).to_be_visible()
    clean(page, axe_findings)
    keys.press("Escape")

    # Lists: j and k move, Enter opens.
    keys.press("j")
    newest = page.locator("[data-list] .lv-name").first
    expect(newest).to_be_focused()
    keys.press("j")
    expect(newest).not_to_be_focused()
    keys.press("k")
    expect(newest).to_be_focused()
    keys.press("g")
    keys.press("j")
    page.wait_for_url(f"{server}/jobs/")
    expect(page.get_by_role("link", name="Failed lately")).to_be_visible()
    clean(page, axe_findings)
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url(f"{server}/jobs/{job.pk}/")

    # A decision takes more than its key.
    keys.press("r")
    rejects = page.get_by_role("dialog", name="Reject this request?")
    expect(rejects.get_by_label("Why (optional)")).to_be_focused()
    keys.press("Escape")
    expect(rejects).to_be_hidden()
    assert state_of(job) == "awaiting_approval"
    keys.press("a")
    dialog = page.get_by_role("dialog", name="Approve this request?")
    expect(dialog.get_by_label("Why (optional)")).to_be_focused()
    clean(page, axe_findings)
    keys.press("Escape")
    expect(dialog).to_be_hidden()
    assert state_of(job) == "awaiting_approval"

    # The time for it passes while the question is open: nothing is sent, and it is said why and what comes first.
    keys.press("a")
    keys.type("as agreed")
    monkeypatch.setattr(step_up, "CONFIRMED_FOR", timedelta(0))
    decisions.comment(Actor.acting_for(olga), job, "Please look today.")
    page.locator("#confirm").wait_for(state="attached")
    dialog.get_by_role("button", name="Approve").press("Enter")
    expect(page.locator("#confirm")).to_be_focused()
    expect(page.locator("#announce")).to_have_text("Nothing was sent: enter your password again to approve.")
    expect(page.locator("#decision textarea")).to_have_value("as agreed")
    assert state_of(job) == "awaiting_approval"
    monkeypatch.undo()
    page.goto(f"{server}/jobs/{job.pk}/")

    keys.press("a")
    keys.type("every row is of the load test? jar")
    keys.press("Tab")
    expect(dialog.get_by_role("button", name="Approve")).to_be_focused()
    keys.press("Enter")
    page.get_by_text("You have approved this version of the request.").wait_for()
    assert state_of(job) == "queued"
    assert job.decisions.get().comment == "every row is of the load test? jar"

    # Home is asked again every few seconds: the focus stays on its row.
    page.clock.install()
    page.goto(f"{server}/")
    row = page.locator(f"#job-{job.pk}")
    keys.press("j")
    expect(row).to_be_focused()
    progress = {"stage": "writing", "done": 3, "total": 9}
    Job.objects.filter(pk=job.pk).update(state="running", attempt=1, token=1, progress=progress)
    page.clock.fast_forward(6_000)
    expect(page.locator("#now").get_by_text("writing, 3 of 9")).to_be_visible()
    expect(row).to_be_focused()

    # In a field a key is a letter; for a person who turned them off, single keys are nothing at all.
    page.goto(f"{server}/tables/")
    page.locator("#q").focus()
    keys.type("jk?/ga")
    expect(page.locator("#q")).to_have_value("jk?/ga")
    Person.objects.filter(pk=anna.pk).update(shortcuts=False)
    page.goto(f"{server}/jobs/")
    for key in ("/", "?", "j", "g", "t"):
        keys.press(key)
    assert page.locator("dialog[open]").count() == 0
    assert page.url == f"{server}/jobs/"
    expect(page.locator("body")).to_be_focused()
    keys.press("Control+k")
    expect(field).to_be_focused()
    keys.press("Escape")
    the_palette_ends_what_it_began(page, f"{server}/jobs/")
    assert faults == []


def the_palette_ends_what_it_began(page: Page, here: str) -> None:
    """What was asked ends with the dialog, without an answer Enter leads to the results, without a session the notice stands alone."""
    keys, held = page.keyboard, list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    page.route(ASKED, hold)
    keys.press("Control+k")
    keys.type("sales")
    keys.press("Enter")
    keys.press("Escape")
    expect(page.get_by_role("combobox", name="Find anything")).to_be_hidden()
    page.unroute(ASKED)
    for route in held:  # an answer that comes late leads nowhere
        with suppress(Error):
            route.continue_()
    page.wait_for_load_state("networkidle")
    assert page.url == here
    page.route(ASKED, lambda route: route.abort() if "hx-request" in route.request.headers else route.continue_())
    keys.press("Control+k")
    keys.type("sales")
    keys.press("Enter")
    page.wait_for_url("**/find/?*q=sales")
    page.unroute_all()
    page.context.clear_cookies()
    keys.press("Control+k")
    expect(page.get_by_role("link", name="sign in in a new tab")).to_have_attribute(
        "href", re.compile(r"/sign-in/\?next=")
    )
    expect(page.get_by_role("combobox", name="Find anything")).to_be_hidden()
