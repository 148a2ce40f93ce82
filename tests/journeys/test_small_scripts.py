"""What the few scripts add to plain pages: menus that close, the search key, copying, the statement as chosen, a log that follows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from console.base.machine import machine_command

pytestmark = pytest.mark.browser


@pytest.fixture
def page(context: BrowserContext, faults: list[str]) -> Iterator[Page]:
    """A page on which no script may fail and nothing may be refused by the policy."""
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    yield page
    assert faults == []


def test_the_account_menu_opens_clean_and_closes_on_escape(
    page: Page, sample_pages: str, axe_findings: Callable[[Page], list[str]]
) -> None:
    page.goto(f"{sample_pages}/dark/home")
    summary = page.locator("details.lv-me > summary")
    summary.click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_role("button", name="Dark", pressed=True)).to_be_visible()
    assert axe_findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    expect(summary).to_be_focused()


def test_the_phone_menu_holds_the_navigation_and_closes_on_a_tap_elsewhere(
    page: Page, sample_pages: str, axe_findings: Callable[[Page], list[str]]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{sample_pages}/dark/home")
    page.get_by_text("Menu", exact=True).click()
    navigation = page.get_by_role("navigation", name="Main, phone")
    expect(navigation.get_by_role("link", name="Tables")).to_be_visible()
    assert axe_findings(page) == []
    page.mouse.click(20, 800)
    expect(navigation).to_be_hidden()


def test_the_slash_key_opens_the_palette_but_not_while_typing(page: Page, sample_pages: str) -> None:
    page.goto(f"{sample_pages}/light/convert")
    page.locator("#path").fill("")
    page.locator("#path").press("/")
    expect(page.locator("#path")).to_have_value("/")
    page.locator("#path").blur()
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Find anything")).to_be_focused()


def test_a_swap_of_a_part_of_a_page_brings_the_notice_that_its_session_has_ended(page: Page, sample_pages: str) -> None:
    notice = Client().get("/home/now/", headers={"HX-Request": "true"})
    page.goto(f"{sample_pages}/light/vacuum")
    page.route(
        f"{sample_pages}/tables/**", lambda route: route.fulfill(headers=dict(notice.items()), body=notice.content)
    )
    kept = page.get_by_label("Hours to keep")
    kept.fill("99")
    kept.blur()
    expect(page.get_by_role("link", name="sign in in a new tab")).to_be_visible()
    expect(kept).to_have_value("99")


def test_a_command_is_copied(page: Page, context: BrowserContext, sample_pages: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{sample_pages}/light/home-first")
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == machine_command("person add NAME --role operator --on everything --password-stdin")


def test_a_link_to_the_list_with_its_filters_is_copied(page: Page, context: BrowserContext, sample_pages: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{sample_pages}/light/jobs?state=failed&cursor=x&by=ana+b#job")
    button = page.get_by_role("button", name="Copy link")
    button.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{sample_pages}/light/jobs?state=failed&by=ana+b"
    page.evaluate("history.replaceState(null, '', '?state=open')")  # as a list does that is narrowed while you type
    expect(button).to_be_visible()
    button.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{sample_pages}/light/jobs?state=open"


@pytest.mark.parametrize("name", ["job-queued", "history", "review", "commits", "audit", "approvals"])
def test_a_link_is_offered_once_and_not_without_a_script(
    page: Page, browser: Browser, sample_pages: str, name: str
) -> None:
    page.goto(f"{sample_pages}/light/{name}")
    expect(page.get_by_role("button", name="Copy link")).to_have_count(1)
    plain = browser.new_context(java_script_enabled=False)
    without = plain.new_page()
    without.goto(f"{sample_pages}/light/{name}")
    expect(without.locator("#copy-link")).to_be_hidden()
    plain.close()


def test_the_statement_shows_the_chosen_types_and_statistics(page: Page, sample_pages: str) -> None:
    page.goto(f"{sample_pages}/light/convert-ready")
    statement = page.get_by_role("region", name="The statement")
    expect(statement).to_have_text(
        _begins(
            "CONVERT TO DELTA parquet.`/lake/orders`"
            " PARTITIONED BY (day date, region string, `loaded at` `timestamp`, station string, "
        ),
        use_inner_text=True,
    )
    page.get_by_label("Type of day").select_option("timestamp")
    page.get_by_label("Statistics").select_option("None")
    expect(statement).to_have_text(
        _begins(
            "CONVERT TO DELTA parquet.`/lake/orders` NO STATISTICS"
            " PARTITIONED BY (day `timestamp`, region string, `loaded at` `timestamp`, station string, "
        ),
        use_inner_text=True,
    )


def _begins(text: str) -> re.Pattern[str]:
    """What a statement begins with; the sample's last column is a text of any length."""
    return re.compile("^" + re.escape(text))


def test_the_choices_travel_in_the_order_of_the_directories(page: Page, sample_pages: str) -> None:
    page.goto(f"{sample_pages}/light/convert-ready")
    page.get_by_label("Type of region").select_option("int")
    sent = page.evaluate("[...new FormData(document.getElementById('request'))]")
    choices = [(name, value) for name, value in sent if name in {"column", "type"}]
    *known, (last, _), its_type = choices
    assert known == [
        ("column", "day"),
        ("type", "date"),
        ("column", "region"),
        ("type", "int"),
        ("column", "loaded at"),
        ("type", "timestamp"),
        ("column", "station"),
        ("type", "string"),
    ]
    assert (last, its_type) == ("column", ("type", "string"))
    assert {name for name, _value in sent} >= {"path", "collect_stats", "reason", "csrfmiddlewaretoken"}


def test_a_job_is_asked_again_until_it_has_ended_and_its_log_follows(page: Page, sample_pages: str) -> None:
    page.goto(f"{sample_pages}/light/job-running")
    assert page.evaluate(
        "(() => { const box = document.querySelector('#log-lines');"
        " return box.scrollTop + box.clientHeight >= box.scrollHeight - 4 })()"
    ), "the log starts at its end"
    with page.expect_request("**/live/"):
        pass
    page.goto(f"{sample_pages}/light/job-succeeded")
    assert page.locator("#job").get_attribute("hx-get") is None


def test_a_swapped_job_is_announced_and_stops_asking(page: Page, sample_pages: str) -> None:
    ended = page.request.get(f"{sample_pages}/light/job-succeeded").text()
    fragment = ended[ended.index('<div id="job"') : ended.index("</main>")]
    page.route("**/live/", lambda route: route.fulfill(status=200, content_type="text/html", body=fragment))
    page.goto(f"{sample_pages}/light/job-running")
    expect(page.get_by_role("link", name="Open the table")).to_be_visible()
    expect(page.locator("#announce")).to_have_text("Succeeded. Committed as version 0.")
    assert page.locator("[hx-get*='live']").count() == 0


def test_a_log_that_was_scrolled_up_stays_where_it_is(page: Page, sample_pages: str) -> None:
    running = page.request.get(f"{sample_pages}/light/job-running").text()
    fragment = running[running.index('<div id="job"') : running.index("</main>")]
    page.route("**/live/", lambda route: route.fulfill(status=200, content_type="text/html", body=fragment))
    page.goto(f"{sample_pages}/light/job-running")
    page.locator("#log-lines").evaluate("box => { box.scrollTop = 40 }")
    page.locator("#log-lines").evaluate("box => { box.dataset.before = 'swap' }")
    expect(page.locator("#log-lines[data-before]")).to_have_count(0)
    assert page.locator("#log-lines").evaluate("box => box.scrollTop") == 40


@pytest.fixture
def held(page: Page, sample_pages: str) -> Callable[[int], Locator]:
    """Presses the button that cancels a running job and holds it for so many milliseconds, until an answer about the job has come."""
    running = page.request.get(f"{sample_pages}/light/job-running").text()
    fragment = running[running.index('<div id="job"') : running.index("</main>")]
    page.route("**/live/", lambda route: route.fulfill(status=200, content_type="text/html", body=fragment))
    page.clock.install(time=0)
    page.goto(f"{sample_pages}/light/job-running")
    page.clock.pause_at(60_000)  # from here on the page's time goes on only as the button is held

    def hold(milliseconds: int) -> Locator:
        button = page.locator("#cancel")
        button.evaluate("button => { button.dataset.before = 'swap' }")
        button.hover()
        page.mouse.down()
        page.evaluate(
            "document.addEventListener('htmx:afterRequest', () => { document.body.dataset.answered = 'yes' }); 0"
        )
        page.clock.fast_forward(milliseconds)
        expect(page.locator("body[data-answered]")).to_have_count(1)
        return page.locator("#cancel[data-before]")

    return hold


def test_a_click_is_not_lost_where_an_answer_comes_while_the_button_is_down(
    page: Page, held: Callable[[int], Locator]
) -> None:
    page.route("**/cancel/", lambda route: route.fulfill(status=200, body="sent"))
    expect(held(2_000)).to_have_count(1)
    page.mouse.up()
    page.wait_for_url("**/cancel/")


def test_a_press_whose_end_is_not_heard_holds_up_no_answer_for_long(page: Page, held: Callable[[int], Locator]) -> None:
    expect(held(4_000)).to_have_count(0)


@pytest.mark.parametrize("way", ["nav a", "#cancel"])
def test_a_poll_that_leads_elsewhere_turns_nobody_back_who_is_on_the_way(
    page: Page, sample_pages: str, way: str
) -> None:
    under_way: list[Route] = []
    answered = 0

    def answer(route: Route) -> None:
        nonlocal answered
        if not under_way:
            route.fulfill(status=204)
            return
        answered += 1
        if answered == 2:
            under_way[0].fulfill(status=200, body="arrived")
        route.fulfill(status=200, headers={"HX-Redirect": f"{sample_pages}/light/job-succeeded"})

    page.route("**/live/", answer)
    page.route("**/slow/", lambda route: under_way.append(route))
    page.goto(f"{sample_pages}/light/job-running")
    target = page.locator(way).first
    target.evaluate("to => { if (to.form) { to.form.action = '/slow/' } else { to.href = '/slow/' } }")
    target.click(no_wait_after=True)
    page.wait_for_url(re.compile("slow|succeeded"))
    assert page.url == f"{sample_pages}/slow/"


NOTE_SUBMITS = """window.addEventListener("submit", (event) => {
  document.body.dataset.submits = `${document.body.dataset.submits ?? ""}${event.defaultPrevented ? " dropped" : " sent"}`;
}); 0"""


def test_a_form_is_sent_once_though_its_button_is_clicked_twice(page: Page, sample_pages: str) -> None:
    page.route("**/cancel/", lambda route: route.fulfill(status=204))  # which leaves the page where it is
    page.goto(f"{sample_pages}/light/job-running")
    page.evaluate(NOTE_SUBMITS)
    with page.expect_request("**/cancel/"):
        page.locator("#cancel").dblclick()
    expect(page.locator("body")).to_have_attribute("data-submits", " sent dropped")
