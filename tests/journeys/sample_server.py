"""Serves every page template with sample facts at /THEME/NAME, beside the built static files, under the product's own policy."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory, override_settings

from console.base.text.invisible_characters import in_page
from console.pages.find import places
from console.pages.help import site
from tests.journeys.samples import PAGES
from tests.journeys.samples_accounts import Someone

DIST = Path(settings.BASE_DIR) / "frontend" / "dist"
SIGNED_OUT = {
    *("sign-in", "sign-in-ended", "sign-in-refused", "sign-in-closed", "error-500", "error-503"),
    *("first-sign-in", "first-sign-in-refused", "first-sign-in-too-late"),
    "reference-signed-out",
}
CONTENT_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
# The route that a page of this template stands at, for the navigation's mark.
ROUTES = {
    "home/home.html": "home",
    "jobs/jobs/list.html": "jobs:list",
    "jobs/jobs/job.html": "jobs:detail",
    "jobs/convert/page.html": "jobs:convert",
    "jobs/workers/workers.html": "jobs:workers",
    "accounts/people.html": "accounts:people",
    "accounts/person.html": "accounts:person",
    "jobs/policies/policies.html": "policies:list",
    "jobs/policies/policy.html": "policies:detail",
    "accounts/tokens.html": "accounts:tokens",
    "audit/list.html": "audit:list",
    "audit/event.html": "audit:event",
    "audit/life.html": "jobs:life",
    "audit/verification.html": "jobs:verify",
}
# Files keep their names: the build's manifest is a matter of collectstatic, not of templates.
PLAIN_FILES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


def rendered(name: str, theme: str) -> str:
    """The page's HTML for a person who chose the theme."""
    template, context = PAGES[name]
    request = RequestFactory().get(f"/{name}")
    match: Any = SimpleNamespace(view_name=ROUTES.get(template, ""), kwargs={})
    request.resolver_match = match
    request.user = AnonymousUser() if name in SIGNED_OUT else Someone(theme=theme)  # type: ignore[assignment]
    frame = {"request": request, "csrf_token": "sample", "shelves": places.shelves(places.PLACES, match)}
    html = render_to_string(template, context | frame)
    return in_page(html.encode()).decode()


class Pages(http.server.BaseHTTPRequestHandler):
    """GET alone; whatever else a page asks for is not there."""

    def do_GET(self) -> None:
        theme, _, name = urlsplit(self.path).path.strip("/").partition("/")
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


@contextmanager
def plain_files() -> Iterator[None]:
    """Static files keep their names, and no page that was made before or meanwhile is kept with the others' addresses."""
    site.load.cache_clear()
    try:
        with override_settings(STORAGES=settings.STORAGES | PLAIN_FILES, STATIC_URL="/static/"):
            yield
    finally:
        site.load.cache_clear()


@contextmanager
def serving() -> Iterator[str]:
    """The address of the running server."""
    with plain_files():
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
