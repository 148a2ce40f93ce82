"""Every page template with sample facts, in a real browser: both themes, at all widths, under the product's own policy.

The journeys meet the pages as they are; this meets the states a journey can't easily reach (a lost worker, a refused convert).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.journeys.conftest import AXE, faults_of
from tests.journeys.samples import PAGES

pytestmark = pytest.mark.browser

SIZES = ((1920, 1080), (1280, 900), (768, 1024), (640, 450), (390, 844))  # 640 px is 1280 at a zoom of 200 %
# A theme changes colours and nothing else, so dark is asked for these alone.
COLOUR_RULES = ("color-contrast", "link-in-text-block")
# And at these widths: each part of a page is shown on a phone, at full width, or at both. Those between only set the same
# parts out otherwise.
COLOURED = (1280, 390)


@pytest.fixture(scope="module")
def shared(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """One page for all, with axe in each document, and its faults: each test loads its own document."""
    context = browser.new_context(reduced_motion="reduce")  # no colour is on its way to another
    faults = faults_of(context)
    context.add_init_script(path=AXE)
    yield context.new_page(), faults
    context.close()


def test_axe_says_what_is_wrong(context: BrowserContext, axe_findings: Callable[..., list[str]]) -> None:
    page = context.new_page()
    page.set_content('<html lang="en"><title>t</title><main><h1>t</h1><img src="data:,"></main></html>')
    assert [finding.split(":")[0] for finding in axe_findings(page)] == ["image-alt"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean_in_both_themes_at_all_widths_and_in_forced_colours(
    name: str,
    sample_pages: str,
    shared: tuple[Page, list[str]],
    axe_findings: Callable[..., list[str]],
) -> None:
    page, faults = shared
    faults.clear()
    page.emulate_media(color_scheme="light", forced_colors="none")
    page.goto(f"{sample_pages}/auto/{name}")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert axe_findings(page) == [], f"{name}, {width} px"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name}, {width} px: scrolls sideways"
        if width in COLOURED:
            page.emulate_media(color_scheme="dark")
            assert axe_findings(page, COLOUR_RULES) == [], f"{name}, {width} px, dark"
            page.emulate_media(color_scheme="light", forced_colors="active")
            assert axe_findings(page, COLOUR_RULES) == [], f"{name}, {width} px, forced colours"
            page.emulate_media(forced_colors="none")
    assert faults == []


def test_axe_sees_colours_that_are_too_close_in_the_dark(
    context: BrowserContext, axe_findings: Callable[..., list[str]]
) -> None:
    page = context.new_page()
    page.set_content(
        '<html lang="en"><title>t</title><style>body { background: white; color: black }'
        "@media (prefers-color-scheme: dark) { body { color: #eee } }</style><main><h1>Too pale</h1></main></html>"
    )
    assert axe_findings(page, COLOUR_RULES) == []
    page.emulate_media(color_scheme="dark")
    assert [finding.split(":")[0] for finding in axe_findings(page, COLOUR_RULES)] == ["color-contrast"]


def test_the_theme_follows_the_system_when_the_person_leaves_it_to_it(
    sample_pages: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme="dark")
    colours = {}
    for theme in ("auto", "dark", "light"):
        page.goto(f"{sample_pages}/{theme}/home")
        colours[theme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours["auto"] == colours["dark"] != colours["light"]
