"""A page of the help is light with its pictures: those that a browser loads before anybody scrolls, in the reader's theme alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from console.accounts.models import Person
from console.pages.help import site
from tests import factories
from tests.guards.test_page_budgets import FIRST, KNOWN
from tests.journeys.looks import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PICTURE = re.compile(r"/static/levee/help/small/\w+-(light|dark)\.")


@contextmanager
def newcomer(browser: Browser, server: str, person: Person, theme: str, system: str) -> Iterator[Page]:
    """A browser that has loaded nothing yet, of a person with a theme of their own choice."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=system)  # type: ignore[arg-type]
    sign_in(context, server, person, theme)
    try:
        yield context.new_page()
    finally:
        context.close()


@pytest.fixture
def ines() -> Person:
    """Somebody whose top bar has every entry."""
    return factories.person_named("ines", "admin", "operator", "auditor")


def transferred(page: Page, address: str) -> dict[str, int]:
    """The bytes of each answer, as sent and with its headers; nothing for what the browser had."""
    finished: list[Request] = []

    def note(request: Request) -> None:
        finished.append(request)

    page.on("requestfinished", note)
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.remove_listener("requestfinished", note)
    sizes = {request.url: request.sizes() for request in finished}
    return {url: size["responseBodySize"] + size["responseHeadersSize"] for url, size in sizes.items()}


def themes_of(loaded: Iterable[str]) -> set[str]:
    """The themes of the pictures among these addresses."""
    return {found[1] for url in loaded if (found := PICTURE.search(url))}


def with_pictures() -> list[str]:
    """The addresses of the help's pages that have any."""
    return [f"/help/{name}/" if name else "/help/" for name, page in site.load().pages.items() if "<img" in page.html]


@pytest.mark.parametrize(("theme", "system"), [("light", "dark"), ("dark", "light")])
def test_a_page_is_light_with_the_pictures_of_the_chosen_theme_alone(
    server: str, browser: Browser, ines: Person, theme: str, system: str
) -> None:
    pages = with_pictures()
    assert len(pages) > 5
    themes = set()
    for address in pages:
        with newcomer(browser, server, ines, theme, system) as page:
            first = transferred(page, server + address)
            assert sum(first.values()) <= FIRST, (address, first)
            again = transferred(page, server + address)
            assert sum(again.values()) <= KNOWN, (address, again)
            themes |= themes_of(first)
    assert themes == {theme}


def test_a_page_that_is_still_coming_in_loads_no_font_for_code(server: str, browser: Browser, ines: Person) -> None:
    """A browser draws what it has of a page; what says how code looks must have come by then."""
    with newcomer(browser, server, ines, "light", "light") as page:

        def cut(route: Route) -> None:
            text = route.fetch().text()
            assert "<kbd" in text[: text.index("<main")]
            route.fulfill(body=text[: text.index("<main")], content_type="text/html")

        page.route("**/help/tables/", cut)
        fonts = {
            Path(url).name.partition(".")[0] for url in transferred(page, f"{server}/help/tables/") if "/fonts/" in url
        }
        assert fonts == {"inter-latin-wght-normal"}


def test_a_picture_follows_the_system_when_the_theme_is_left_to_it_and_leads_to_the_whole_one(
    server: str, browser: Browser, ines: Person
) -> None:
    with newcomer(browser, server, ines, "auto", "dark") as page:
        assert themes_of(transferred(page, f"{server}/help/tables/")) == {"dark"}
        link = page.get_by_role("link", name="The list of tables")
        expect(link).to_have_attribute("href", re.compile(r"^/static/levee/help/list-dark\.\w+\.png$"))
        whole = page.request.get(server + str(link.get_attribute("href")))
        assert whole.ok
        assert whole.headers["content-type"] == "image/png"
