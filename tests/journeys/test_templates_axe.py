"""Every page template with sample facts, in a real browser: both themes, wide and narrow, under the product's own policy.

The journeys meet the pages as they are; this meets the states a journey can't easily reach (a lost worker, a refused convert).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.journeys.samples import PAGES

pytestmark = pytest.mark.browser

# Dark on a phone is dark's colours in light's layout: axe has met both by then, and each look costs most of a second.
LOOKS = (("light", 1280), ("light", 390), ("dark", 1280))


def test_axe_says_what_is_wrong(context: BrowserContext, axe_findings: Callable[[Page], list[str]]) -> None:
    page = context.new_page()
    page.set_content('<html lang="en"><title>t</title><main><h1>t</h1><img src="data:,"></main></html>')
    assert [finding.split(":")[0] for finding in axe_findings(page)] == ["image-alt"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean_in_both_themes_and_at_both_widths(
    name: str,
    sample_pages: str,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    page = context.new_page()
    for theme, width in LOOKS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{sample_pages}/{theme}/{name}")
        where = f"{name}, {theme}, {width} px"
        assert axe_findings(page) == [], where
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: scrolls sideways"
    assert faults == []


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
