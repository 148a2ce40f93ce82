"""No page is wider than its window, however long the names and texts on it are: every address, on a phone, a tablet and a desk."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext

from tests import factories
from tests.factories import hostile as things_of
from tests.guards.test_hostile_texts import pages
from tests.guards.test_routes import filled
from tests.journeys.looks import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
WIDTHS = (390, 768, 1280)
NAME, TEXT = 64, 3_000  # characters without a break
LONG_QUERY = 3_000  # an address has up to 4,094
# The innermost part of the page without which it would fit; more than one of them, or a word that widens nothing alone: the outer one.
WIDEST = """() => {
  const root = document.documentElement;
  const fits_without = each => {
    const shown = each.style.display;
    each.style.display = 'none';
    const fits = root.scrollWidth <= root.clientWidth;
    each.style.display = shown;
    return fits;
  };
  let widest = document.body;
  for (let inner = widest; inner; inner = [...widest.children].find(fits_without)) {
    widest = inner;
  }
  const text = widest.textContent.trim().slice(0, 40);
  return `${widest.tagName.toLowerCase()}.${widest.className} of ${widest.parentElement.className}: ${text}`;
}"""
IS_WHOLE = "document.styleSheets.length > 0"  # and no part that a page swaps in
# Pages and states beside the plain addresses.
STATES = (
    "/tables/?q=table", "/find/?q=table", "/tables/<uuid:table_id>/schema/?version=1", "/tables/<uuid:table_id>/compare/?from=0&to=2",
    "/tables/<uuid:table_id>/layout/?version=99", "/tables/<uuid:table_id>/history/?unfold=1", "/tables/<uuid:table_id>/commits/2/",
    *(f"/tables/<uuid:table_id>/{page}={'w' * LONG_QUERY}" for page in ("delete/?predicate", "rows/?predicate", "schema/?version")),
    "/tables/<uuid:table_id>/schema/?version=" + "9" * LONG_QUERY, "/find/?q=" + "w" * LONG_QUERY, "/tables/?q=" + "w" * LONG_QUERY,
    "/jobs/<uuid:failed_id>/", "/jobs/<uuid:succeeded_id>/", "/jobs/<uuid:running_id>/", "/jobs/?by=" + "w" * NAME,
)  # fmt: skip


def long_name(what: str) -> str:
    return f"{what.replace(' ', '_')}_".ljust(NAME, "w")


def long_text(what: str) -> str:
    return f"{what} ".ljust(TEXT, "w")


def test_no_page_is_wider_than_its_window(
    server: str, tmp_path: Path, context: BrowserContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(things_of, "hostile", long_name)
    monkeypatch.setattr(things_of, "hostile_whole", long_text)
    person = factories.person_named("w" * NAME, "admin", "operator", "auditor", "approver")
    things = things_of.everything(tmp_path, person)
    sign_in(context, server, person, "light")
    page, wide, measured = context.new_page(), [], 0
    for address in (*pages(), *STATES):
        path, _, query = filled(address, things).partition("?")
        answer = page.goto(server + quote(path) + (f"?{query}" if query else ""))
        if answer is None or not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        if not page.evaluate(IS_WHOLE):
            continue
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            measured += 1
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(f"{address} at {width}: {page.evaluate(WIDEST)}")
    assert not wide, "\n".join(wide)
    assert measured > 80 * len(WIDTHS)
