"""Texts from outside stay texts wherever they are shown (F11): on every page, in the API's answers and in exports.

What a terminal gets of them is in `tests/console/cli/test_hostile_texts.py`, what a browser makes of the pages in `tests/journeys`.
"""

from __future__ import annotations

import csv
import html as html_text
import io
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from console.accounts.models import Person
from tests import factories
from tests.clients import Caller, confirmed_browser
from tests.factories import hostile as hostile_things
from tests.guards.routes import patterns
from tests.guards.test_routes import filled
from tests.hostile_texts import CORE, Parsed, hostile, hostile_whole, shown
from tests.journeys.sample_server import rendered
from tests.journeys.samples import PAGES

# What addresses read from their query, each with a hostile text: those that take any, and those that refuse one.
QUERIES = (
    (),
    ("q", "at", "by", "name", "next", "path", "text", "tag", "owner", "condition", "predicate", "link", "recent", "object", "operation"),
    ("day", "kind", "since", "state", "table", "order", "facet", "action", "version", "old", "new", "from", "to", "cursor", "root"),
)  # fmt: skip
# What pages show: texts that have room, whole; and those that the database or the page keeps to a line's length.
SHOWN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "/": (("notice", "raw", "table", "stage", "stream's state", "schedule's state"), ("stream", "schedule")),
    "/account/tokens/": ((), ("token",)),
    "/account/preferences/": ((), ("filter",)),
    "/people/{person_id}/": ((), ("root",)),
    "/policies/": ((), ("rule", "root")),
    "/find/?q=inner": (("table",), ("inner",)),
    "/find/?q=stream": ((), ("stream",)),
    "/find/?at=/tables/{table_id}/": (("table",), ("filter",)),
    "/audit/": ((), ("object",)),
    "/audit/{event_id}/": (("object", "event's reason"), ()),
    "/tables/": (("table", "raw"), ("owner", "tag", "root")),
    "/tables/commits/?day=2023-11-14": (("table",), ("operation",)),
    "/tables/commits/?kind=unapproved": (("table",), ()),
    "/tables/roots/{root_id}/": (("refusal", "scan"), ("finding", "root")),
    "/tables/{table_id}/": (("table", "description", "constraint", "value"), ("property", "partition", "stream", "owner", "tag")),
    "/tables/{table_id}/schema/": (("comment",), ("column", "inner", "partition")),
    "/tables/{table_id}/schema/?q=column": ((), ("column",)),
    "/tables/{table_id}/history/": (("user",), ("operation", "predicate")),
    "/tables/{table_id}/commits/1/": (("user", "engine", "parameter"), ("operation",)),
    "/tables/{table_id}/commits/2/": (("predicate", "why"), ()),
    "/tables/{table_id}/protocol/": ((), ("application",)),
    "/tables/{table_id}/layout/": ((), ("partition",)),
    "/tables/{table_id}/partitions/": ((), ("partition", "partition value 3")),
    "/tables/{table_id}/compare/?from=0&to=1": (("table",), ()),
    "/roots/": (("raw",), ("root",)),
    "/roots/{root_id}/": (("raw", "scan", "sync error"), ("root",)),
    "/jobs/": (("raw", "table", "stage"), ("filter",)),
    "/jobs/{job_id}/": (("event", "job's reason", "rule's reason"), ("host",)),
    "/jobs/{failed_id}/": (("message", "what to do", "engine's words", "event"), ("host",)),
    "/jobs/{succeeded_id}/": (("details", "event"), ()),
    "/jobs/{running_id}/": (("log",), ()),
    "/jobs/{job_id}/life/": (("decision", "job's reason", "raw"), ()),
    "/approvals/": (("raw",), ()),
    "/convert/inspection/{read_id}/": (("evidence", "conflict text", "refused", "remedy", "note"), ("proposed",)),
    "/convert/": ((), ("raw",)),
    "/schedules/": (("table",), ("schedule", "schedule's state")),
    "/schedules/{schedule_id}/": (("run", "schedule's reason", "schedule's state"), ("schedule",)),
    "/streams/": (("lag", "table"), ("stream",)),
    "/streams/{stream_id}/": (("stream's reason", "stream's message", "stream's remedy", "lag"), ("stream",)),
    "/workers/": ((), ("worker", "machine", "work", "round")),
}  # fmt: skip
# Pages of the samples that a browser looks at, each with a hostile text in its list or its sentences, in both themes at all widths.
SAMPLES = (
    "home", "commits", "jobs", "job-queued", "history", "schema", "convert", "convert-stopped", "rows", "changes", "row-diff",
    "profile-rows", "workers", "workers-failing", "metastore", "metastore-tables", "metastore-added", "schedules",
    "schedule-asked", "approvals", "review", "find", "preferences", "audit", "people", "person", "tokens", "policies",
    "home-notices", "sample-removal",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(rows_of_module: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, dict[str, Any]]:
    """Somebody who may see and do everything, and one of everything."""
    with rows_of_module():
        person = factories.person_named("ada", "admin", "operator", "auditor", "approver")
        return person, hostile_things.everything(tmp_path_factory.mktemp("hostile"), person)


@pytest.fixture
def person(db: None, made: tuple[Person, dict[str, Any]]) -> Person:
    return Person.objects.get(pk=made[0].pk)


@pytest.fixture
def things(db: None, made: tuple[Person, dict[str, Any]], redis_server: object) -> dict[str, Any]:
    return dict(made[1])


@pytest.fixture
def client(person: Person) -> Client:
    return confirmed_browser(person)


def pages() -> list[str]:
    return [address for address, _ in patterns() if not address.startswith(("/api/", "/health/", "/metrics"))]


def test_no_page_makes_more_of_a_text(client: Client, things: dict[str, Any]) -> None:
    faults, read = {}, set()
    for address in pages():
        for names in QUERIES:
            query = urlencode({name: hostile_whole(name) for name in names})
            answer = client.get(f"{quote(filled(address, things))}?{query}")
            assert answer.status_code < 500, address
            if answer.headers.get("Content-Type", "").startswith("text/html") and answer.status_code == 200:
                read.add(address)
            if found := Parsed(answer.content.decode()).faults:
                faults[address, names[:1]] = found
    assert faults == {}
    assert len(read) > 60


@pytest.mark.parametrize("address", SHOWN)
def test_a_page_shows_the_texts(address: str, client: Client, things: dict[str, Any]) -> None:
    answer = client.get(address.format(**things))
    assert answer.status_code == 200
    page = Parsed(answer.content.decode())
    whole, short = SHOWN[address]
    missing = [what for what in whole if shown(hostile_whole(what)) not in page.words]
    missing += [what for what in short if shown(hostile(what)) not in page.words]
    assert (missing, page.faults) == ([], [])


def test_no_sample_makes_more_of_a_text() -> None:
    read = {name: Parsed(rendered(name, "auto")) for name in PAGES}
    assert {name: page.faults for name, page in read.items() if page.faults} == {}
    assert [name for name in SAMPLES if shown(CORE) not in read[name].words] == []


def test_the_check_sees_what_a_text_would_become() -> None:
    words = Parsed(f"<p title='{CORE}'>{CORE}</p><!-- x --><a href='javascript:x'>x</a><script>x</script>")
    kinds = {fault.split(" ")[1] for fault in words.faults}
    assert {"element", "attribute", "comment", "link", "invisible"} <= kinds, words.faults


def test_the_values_of_forms_keep_their_characters(client: Client, things: dict[str, Any]) -> None:
    html = client.get(f"/tables/{things['table_id']}/describe/").content.decode()
    assert html.count("This field holds characters that can’t be seen: ⟨U+202E⟩") == 3
    for field in ("owner", "tags"):
        (sent,) = re.findall(rf'name="{field}" value="([^"]*)"', html)
        assert html_text.unescape(sent) == hostile(field.rstrip("s"))


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield value


# Lists of the API, and the texts that their answers hold as they were given.
LISTS = {
    "/tables": ("table",), "/jobs": ("job's reason",), "/streams": ("stream's reason", "stream's state"),
    "/schedules": ("schedule's reason",), "/audit": ("object", "event's reason"), "/notices": ("notice",),
    "/tables/{table_id}": ("table", "description", "comment"), "/tables/{table_id}/history": ("user", "parameter"),
    "/tables/{table_id}/schema": ("comment",), "/jobs/{job_id}/events": ("event",), "/roots/{root_id}/findings": ("refusal",),
}  # fmt: skip


@pytest.mark.parametrize("address", LISTS)
def test_the_api_gives_the_text_as_it_is(address: str, person: Person, things: dict[str, Any]) -> None:
    answer = Caller(person).get(address.format(**things))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    given = set(map(str, leaves(answer.json())))
    assert [what for what in LISTS[address] if hostile_whole(what) not in given] == []


def test_exports_give_the_text_as_it_is(person: Person, things: dict[str, Any]) -> None:
    asked = {kind: Caller(person).get("/audit/export", format=kind) for kind in ("jsonl", "csv")}
    text = {kind: answer.getvalue().decode() for kind, answer in asked.items()}
    wanted = [hostile_whole("object"), hostile_whole("event's reason")]
    (event,) = [
        found
        for line in text["jsonl"].split("\n")
        if line
        if (found := json.loads(line)).get("id") == str(things["event_id"])
    ]
    assert [event["object"]["name"], event["reason"]] == wanted
    rows = list(csv.reader(io.StringIO(text["csv"], newline="")))
    (row,) = [dict(zip(rows[0], row, strict=True)) for row in rows[1:] if str(things["event_id"]) in row]
    assert [row["object_name"], row["reason"]] == wanted
