"""Queries and forms that nobody would send, to every page: a page, a plain refusal or nothing found, never a server error (F12).

The addresses come from the URL tree, the names of parameters from the pages' own forms and links.
"""

from __future__ import annotations

import os
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.accounts.models import Person
from tests import factories
from tests.clients import confirmed_browser
from tests.factories import hostile as hostile_things
from tests.guards.test_generated_requests import TEXTS
from tests.guards.test_hostile_texts import pages
from tests.guards.test_routes import filled

EXAMPLES = 100 if os.environ.get("LEVEE_SOAK_SIZE") == "full" else 2  # of each address and method
ODD = st.sampled_from(["\x00", "a\x00b", "\ud800", "9" * 25, str(2**63), str(-(2**63) - 1), "1e999", "NaN"])
TARGETS = ("href", "action", "formaction", "hx-get", "hx-post")
FORM = "application/x-www-form-urlencoded"


class Asked(HTMLParser):
    """The names that a page's fields send, and the addresses that it leads to with the names in their queries."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.targets: dict[str, set[str]] = defaultdict(set)
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("input", "select", "textarea", "button") and given.get("name"):
            self.names.add(given["name"])
        for name in TARGETS:
            if name in given:
                target = urlsplit(given[name])
                self.targets[target.path] |= {key for key, _ in parse_qsl(target.query, keep_blank_values=True)}
                self.names |= self.targets[target.path] if not target.path else set()


@pytest.fixture
def person(db: None) -> Person:
    """Somebody who may see and do everything."""
    return factories.person_named("ada", "admin", "operator", "auditor", "approver")


def client_of(person: Person) -> Client:
    client = confirmed_browser(person)
    client.raise_request_exception = False
    return client


def parameters(person: Person, addresses: list[str]) -> dict[str, list[str]]:
    """The names that each address is asked with, by its own page and by those that lead to it."""
    client = client_of(person)
    named: dict[str, set[str]] = defaultdict(set)
    for address in addresses:
        answer = client.get(address)
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            asked = Asked(answer.content.decode())
            named[address] |= asked.names
            for target, names in asked.targets.items():
                named[target] |= asked.names | names
    return {address: sorted(named[address] - {"csrfmiddlewaretoken"}) or ["x"] for address in addresses}


def encoded(values: dict[str, list[str]]) -> str:
    pairs = [(name.encode(), value.encode("utf-8", "surrogatepass")) for name, each in values.items() for value in each]
    return urlencode(pairs, quote_via=quote)


def undone(client: Client, method: str, address: str, text: str) -> int:
    """The status; what the request did is taken back."""
    with transaction.atomic():
        answer = client.get(f"{address}?{text}") if method == "GET" else client.post(address, text, content_type=FORM)
        transaction.set_rollback(True)
    return answer.status_code


@pytest.mark.parametrize("method", ["GET", pytest.param("POST", marks=pytest.mark.dear)])
def test_no_page_fails_for_what_a_query_or_a_form_holds(
    tmp_path: Path, person: Person, redis_server: object, method: str
) -> None:
    things = hostile_things.everything(tmp_path, person)
    known = parameters(person, [quote(filled(address, things)) for address in pages()])
    assert sum(map(len, known.values())) > 300
    for address, names in known.items():
        client = client_of(person)
        if method == "GET" or undone(client, method, address, "") != 405:
            _plays(client, method, address, names)


def _plays(client: Client, method: str, address: str, names: list[str]) -> None:
    values = st.lists(ODD | TEXTS, min_size=1, max_size=2)

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from(names), values, min_size=1, max_size=3))
    def answers(asked: dict[str, list[str]]) -> None:
        assert undone(client, method, address, encoded(asked)) < 500, (method, address, asked)

    answers()


# Where a NUL once led to an error.
NUL: tuple[tuple[str, str, str, set[int]], ...] = (
    ("GET", "/tables/", "q", {200}),
    ("GET", "/tables/{table_id}/rows/", "columns", {400}),
    ("GET", "/convert/", "path", {403}),
    ("POST", "/convert/", "path", {403}),
    ("POST", "/convert/again/", "path", {403}),
    ("POST", "/tables/roots/{root_id}/", "path", {400}),
    ("POST", "/schedules/new/", "table", {200, 400}),
    ("POST", "/streams/{stream_id}/reset/", "reason", {400}),
    ("POST", "/tables/{table_id}/describe/", "description", {200, 400}),
)


@pytest.mark.parametrize("text", ["\x00", "a\x00b"])
def test_a_nul_is_refused_or_found_nowhere(tmp_path: Path, person: Person, redis_server: object, text: str) -> None:
    things: dict[str, Any] = hostile_things.everything(tmp_path, person)
    client = client_of(person)
    got = {
        (method, address): (undone(client, method, address.format(**things), encoded({name: [text]})), expected)
        for method, address, name, expected in NUL
    }
    assert {key: status for key, (status, expected) in got.items() if status not in expected} == {}
