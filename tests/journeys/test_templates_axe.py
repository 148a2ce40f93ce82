"""Every page template with sample facts, in a real browser: both themes, wide and narrow, under the product's own policy.

The journeys meet the pages as they are; this meets the states a journey can't easily reach (a lost worker, a refused convert).
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory, override_settings
from playwright.sync_api import BrowserContext, Page

from tests.journeys.samples import PAGES, Someone

pytestmark = pytest.mark.browser

DIST = Path(settings.BASE_DIR) / "frontend" / "dist"
SIGNED_OUT = {"sign-in", "sign-in-refused", "error-503"}
CONTENT_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
ROUTES = {"home.html": SimpleNamespace(view_name="home"), "jobs": SimpleNamespace(view_name="jobs:detail")}
WIDTHS = (1280, 390)
THEMES = ("light", "dark")
"""The theme that a person chose; "auto" is asked of the browser in a test of its own."""


def rendered(name: str, theme: str) -> str:
    """The page's HTML for a signed-in person who chose the theme."""
    template, context = PAGES[name]
    request = RequestFactory().get(f"/{name}")
    request.resolver_match = ROUTES.get(template.partition("/")[0])
    request.user = AnonymousUser() if name in SIGNED_OUT else Someone(theme=theme)  # type: ignore[assignment]
    return render_to_string(template, context | {"request": request, "csrf_token": "sample"})


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves /THEME/NAME and the built static files, with the product's policy on every answer."""

    def do_GET(self) -> None:
        theme, _, name = self.path.strip("/").partition("/")
        if theme == "static":
            self._send(CONTENT_TYPES[Path(name).suffix], (DIST / name).read_bytes())
        elif name in PAGES:
            self._send("text/html; charset=utf-8", rendered(name, theme).encode())
        else:
            self.send_error(404)

    def _send(self, content_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Security-Policy", build_policy())
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *parts: Any) -> None:
        """Quiet: a failing test says what it asked for."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    plain = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
    with override_settings(
        STORAGES=settings.STORAGES | plain, STATIC_URL="/static/", ROOT_URLCONF="tests.journeys.sample_urls"
    ):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_clean_in_both_themes_and_widths(
    name: str,
    address: str,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    page = context.new_page()
    for theme in THEMES:
        page.goto(f"{address}/{theme}/{name}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            where = f"{name}, {theme}, {width} px"
            assert axe_findings(page) == [], where
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{where}: scrolls sideways"
    assert faults == []


def test_the_theme_follows_the_system_when_the_person_leaves_it_to_it(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme="dark")
    colours = {}
    for theme in ("auto", "dark", "light"):
        page.goto(f"{address}/{theme}/home")
        colours[theme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours["auto"] == colours["dark"] != colours["light"]
