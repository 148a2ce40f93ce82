"""Tables whose first commits Levee has never read: what they were is still known, or said to be unknown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from rest_framework.test import APIClient

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.targets.predicates import tree_for
from tables.catalog.adding import additions
from tables.history import payloads, queries
from tables.history.reachability import TableReach, joined
from tables.models import Baseline, Commit, Explanation, Root, Table
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, SCHEMA, LogWriter, add, info, metadata

FEED = "delta__enableChangeDataFeed"
NARROW = json.dumps({"type": "struct", "fields": json.loads(SCHEMA)["fields"][:1]})


@pytest.fixture
def log(lake: Path) -> LogWriter:
    return LogWriter(lake / "orders")


def cleaned(log: LogWriter, first: int, last: int, **configuration: str) -> None:
    """A log as Delta leaves it after a clean-up: a checkpoint, its commit and those after it."""
    state = metadata(**configuration)
    log.checkpoint(first, PROTOCOL, state, *(add(f"f{n}") for n in range(first + 1)))
    for version in range(first, last + 1):
        log.commit(version, info(), add(f"f{version}"), modified_ms=recent(version))


def recent(version: int) -> int:
    """A time young enough to be restorable, in milliseconds."""
    return int(time.time() * 1000) - 3_600_000 + 1000 * version


@pytest.fixture
def table(admin: Actor, root: Root, log: LogWriter) -> Table:
    """Versions 10 to 13 of a table, of which Levee reads the first when the others are long gone."""
    cleaned(log, 10, 13, **{FEED: "true"})
    return additions.add_table(admin, str(log.table)).table


def change_feeds(table: Table) -> dict[int, bool | None]:
    commits = list(Commit.objects.filter(table=table, incarnation=table.incarnation))
    return {c.version: r.change_feed for c, r in zip(commits, TableReach(table).over(commits), strict=True)}


def test_what_a_table_was_comes_from_its_checkpoint(table: Table) -> None:
    for version in (10, 12, 13):
        state = queries.state_at(table, version)
        assert state.schema is not None
        assert state.schema.columns == ["id", "day"]
        assert state.properties == {"delta.enableChangeDataFeed": "true"}
        assert state.protocol is not None
    assert queries.state_at(table, 9).schema is None
    assert queries.state_at(table, 9).protocol is None


def test_its_change_feed_is_known(table: Table) -> None:
    assert change_feeds(table) == dict.fromkeys(range(10, 14), True)
    (span,) = joined(TableReach(table).spans)
    assert (span.first, span.last, span.change_feed) == (10, 13, True)


def test_a_predicate_can_be_asked_of_an_old_version(table: Table) -> None:
    assert tree_for(table, 11, "id = 1")


def test_its_next_change_is_compared_with_what_it_was(table: Table, log: LogWriter) -> None:
    log.commit(14, info("CHANGE COLUMN"), metadata(schema=NARROW), modified_ms=recent(14))
    table = syncing.sync(table.pk)
    commit = Commit.objects.get(table=table, version=14)
    schema, properties, _ = payloads.commit_changes(table, commit)
    assert schema is not None
    assert properties is not None
    assert [(c.kind.value, c.column) for c in schema] == [("removed", "day")]
    assert [(c.name, c.before, c.after) for c in properties] == [("delta.enableChangeDataFeed", "true", None)]
    assert Explanation.objects.get(table=table).effects == ["dropped_columns"]
    assert change_feeds(table) == {**dict.fromkeys(range(10, 14), True), 14: False}


def test_a_table_known_before_there_were_baselines_gets_its_own(table: Table) -> None:
    Baseline.objects.all().delete()
    assert queries.state_at(table, 12).schema is None
    assert change_feeds(table)[12] is None
    syncing.sync(table.pk)
    assert queries.state_at(table, 12).schema is not None
    assert Baseline.objects.get().unknown_from == 0


def test_a_gap_in_the_history_hides_no_change(table: Table, log: LogWriter) -> None:
    for path in log.log.iterdir():
        path.unlink()
    log.checkpoint(30, PROTOCOL, metadata(schema=NARROW), add("g"))
    log.commit(30, info(), modified_ms=recent(30))
    log.commit(31, info("SET TBLPROPERTIES"), metadata(schema=NARROW, user__note="x"), modified_ms=recent(31))
    table = syncing.sync(table.pk)
    before, lost, after = (queries.state_at(table, version) for version in (13, 20, 30))
    assert before.schema is not None
    assert before.schema.columns == ["id", "day"]
    assert (lost.schema, lost.properties, lost.protocol) == (None, None, None)
    assert after.schema is not None
    assert after.schema.columns == ["id"]
    assert not Explanation.objects.exists()  # the column was dropped by a commit that nobody has seen


def test_a_table_without_a_gap_needs_none(admin: Actor, root: Root, log: LogWriter) -> None:
    log.create()
    log.commit(1, info(), add("f"))
    table = additions.add_table(admin, str(log.table)).table
    log.commit(2, info(), add("g"))
    syncing.sync(table.pk)
    assert not Baseline.objects.exists()


@pytest.fixture
def untold(admin: Actor, root: Root, log: LogWriter) -> Table:
    """A table of which the log tells nothing before version 12, where it says what it is."""
    log.commit(11, info(), add("f"), modified_ms=recent(11))
    log.commit(12, info("SET TBLPROPERTIES"), PROTOCOL, metadata(user__note="x"), modified_ms=recent(12))
    return additions.add_table(admin, str(log.table)).table


@pytest.fixture
def ines(person: Callable[..., Person]) -> Person:
    return person("ines")


def test_what_nobody_knows_is_said_to_be_unknown(untold: Table, ines: Person) -> None:
    browser, api = Client(), APIClient()
    browser.force_login(ines)
    api.force_login(ines)
    html = browser.get(f"/tables/{untold.pk}/commits/12/").content.decode()
    assert "Levee doesn’t know what the table was before this commit" in html
    assert "Unchanged by this commit" not in html
    body = api.get(f"/api/v1/tables/{untold.pk}/commits/12").json()
    assert (body["schema_changes"], body["property_changes"]) == (None, None)
    assert api.get(f"/api/v1/tables/{untold.pk}/commits/11").json()["schema_changes"] == []


def test_the_pages_of_such_a_table_open(table: Table, ines: Person) -> None:
    browser = Client()
    browser.force_login(ines)
    html = browser.get(f"/tables/{table.pk}/schema/?old=10&new=13").content.decode()
    assert "are the same" in html
    for tab in ("history/", "schema/?version=3", "protocol/?version=3", "commits/10/"):
        assert browser.get(f"/tables/{table.pk}/{tab}").status_code == 200
