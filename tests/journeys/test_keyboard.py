"""Every page, in every state, by keyboard alone: Tab reaches all that can be used, shows where it is, and is caught nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.journeys.samples import PAGES

pytestmark = pytest.mark.browser

SCRIPT = (Path(__file__).parent / "keyboard.js").read_text()
AGAIN = 12  # a field of a date takes several presses, a box that scrolls is a stop of its own
# Where the frame differs: the bar's entries and the phone's menu. One is walked backwards.
WALKS = ((1280, 900, "Tab"), (390, 844, "Shift+Tab"))
SMALL = (
    (640, 450),
    (390, 844),
)  # where something that stays in its place has little room beside it; the first is 1280 px at 200 %


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One for all: each test loads its own document."""
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script(SCRIPT)
    with context.new_page() as page:
        yield page
    context.close()


def walked(page: Page, key: str = "Tab") -> list[str]:
    """What real presses of the key meet: stops they don't reach, and stops that don't show the focus."""
    presses, left = page.evaluate("keyboard.begin()"), -1
    while presses:
        for _ in range(presses):
            page.keyboard.press(key)
        before, left = left, page.evaluate("keyboard.left()")
        presses = left + AGAIN if left and left != before else 0
    return [
        f"{trouble}: {told}" for trouble in ("missing", "unmarked") for told in page.evaluate(f"keyboard.{trouble}()")
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_used_by_keyboard_alone(name: str, sample_pages: str, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{sample_pages}/auto/{name}")
    assert page.evaluate("keyboard.moving()") == [], f"{name}: moves for somebody who wants no motion"
    for width, height in SMALL:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("keyboard.covered()") == [], f"{name}, {width} px"
    for width, height, key in WALKS:
        page.set_viewport_size({"width": width, "height": height})
        assert walked(page, key) == [], f"{name}, {width} px, {key}"
        assert page.evaluate("keyboard.mouseOnly()") == [], f"{name}, {width} px"


FAULTS = {
    "<a href=#a>One</a><a href=#b tabindex=-1>Two</a>": ["missing: <a href=\"#b\""],
    "<button>One</button><textarea onkeydown='event.preventDefault()'></textarea><button>Three</button>": ["missing: <button>Three"],
    "<style>button { outline: none !important }</style><button>One</button>": ["unmarked: <button>One"],
    "<a href=#a>One</a><input type=radio name=r><input type=radio name=r><input type=date>": [],
}  # fmt: skip


@pytest.mark.parametrize(("html", "found"), FAULTS.items())
def test_the_walk_says_what_is_wrong(html: str, found: list[str], page: Page) -> None:
    page.goto("about:blank")
    page.set_content(html)
    troubles = walked(page)
    assert len(troubles) == len(found)
    assert all(trouble.startswith(begin) for trouble, begin in zip(troubles, found, strict=True))


def test_what_only_a_mouse_can_use_is_seen(page: Page) -> None:
    page.goto("about:blank")
    page.set_content(
        "<p id=a>1</p><p hx-get='/x'>2</p><p style='cursor: pointer'>3</p><button id=b>4</button>"
        "<form hx-get='/x'></form><label style='cursor: pointer'>5</label>"
    )
    page.evaluate("for (const id of ['a', 'b']) document.getElementById(id).addEventListener('click', () => 0)")
    assert sorted(told[-5:] for told in page.evaluate("keyboard.mouseOnly()")) == ["1</p>", "2</p>", "3</p>"]


def test_what_covers_the_focus_and_what_moves_is_seen(page: Page) -> None:
    page.goto("about:blank")
    page.set_content(
        "<style>div { position: fixed; inset: 0 0 auto; height: 90px; background: red; transition: top 1s }</style>"
        "<a href=#a>Under</a><div></div><p style='margin-top: 120px'><a href=#b>Beside</a></p>"
    )
    assert page.evaluate("keyboard.covered()") == ['<a href="#a">Under</a>']
    assert [told[:4] for told in page.evaluate("keyboard.moving()")] == ["<div"]
