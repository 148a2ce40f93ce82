"""A store that redirects leads Levee nowhere else: its root is refused with where it leads, and nothing arrives there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import obstore
import pytest

from console.audit.actor import Actor
from console.base.errors import Problem
from tables.catalog.roots import entries as roots
from tables.catalog.roots import places as root_places
from tables.catalog.roots.object_stores import description_of
from tables.models import Root
from tables.storage.patience import BRIEF
from tables.storage.s3.options import S3Options

EMPTY = b'<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>'


@contextmanager
def server(location: str | None, status: int = 307) -> Iterator[tuple[int, list[str]]]:
    """Its port and what it was asked; it redirects there, or answers a bucket without keys."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if location is None else status)
            if location is not None:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(EMPTY)))
            self.end_headers()
            self.wfile.write(EMPTY)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield http.server_port, asked
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[int, list[str]]]]:
    with ExitStack() as stack:
        yield lambda *given: stack.enter_context(server(*given))


def described(port: int, host: str = "127.0.0.1") -> dict[str, Any]:
    return {"endpoint": f"http://{host}:{port}", "region": "us-east-1", "key_id": "k", "secret": "s"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.1", 307), ("127.0.0.2", 307), ("localhost", 301), ("127.0.0.2", 308)]
)
def test_the_test_of_a_root_follows_no_redirect(admin: Actor, serve: Any, host: str, status: int) -> None:
    there, arrived = serve(None)
    here, _ = serve(f"http://{host}:{there}/bucket?list-type=2", status)
    given = description_of(described(here))
    checks = root_places.examine(admin, "s3://bucket/lake", given, writes=True)
    (bad,) = (check for check in checks if check.passed is False)
    assert f"sends requests on to http://{host}:{there}, and Levee follows a store nowhere else" in bad.answer
    with pytest.raises(Problem, match="follows a store nowhere else"):
        roots.add_root(admin, "lake", "s3://bucket/lake", storage=given)
    assert (arrived, Root.objects.count()) == ([], 0)


@pytest.mark.parametrize("act", [lambda store: list(obstore.list(store)), lambda store: obstore.get(store, "a")])
def test_a_store_that_begins_to_redirect_later_leads_nowhere_else_either(serve: Any, act: Any) -> None:
    there, arrived = serve(None)
    here, asked = serve(f"http://127.0.0.2:{there}/x")
    store = S3Options("bucket", **described(here)).store(BRIEF)
    with pytest.raises(obstore.exceptions.BaseError):
        act(store)
    assert (arrived, bool(asked)) == ([], True)


def test_what_stays_at_the_endpoint_or_does_not_answer_is_no_redirect(serve: Any) -> None:
    plain, _ = serve(None)
    own, _ = serve("/bucket/")
    for given in (described(plain), described(own), described(9), {"endpoint": ""}):
        assert S3Options("bucket", **given).sent_on_to() is None


@pytest.mark.parametrize("location", ["http://x\u00e4<b>/", "ftp://elsewhere", "http://user:secret@[::1]:80/"])
def test_no_more_of_a_stores_answer_is_told_than_a_host(serve: Any, location: str) -> None:
    here, _ = serve(location)
    told = S3Options("bucket", **described(here)).sent_on_to()
    assert told in {"another place", "http://[::1]:80"}


def test_a_proxy_of_the_environment_decides_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    options = S3Options("bucket", **described(9))
    assert options.for_obstore()["client_options"]["proxy_excludes"] == "127.0.0.1"
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.org:3128")
    assert "proxy_url" not in options.for_obstore()["client_options"]
