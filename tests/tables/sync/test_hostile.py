"""Logs that a sync must bear: the widest, and those written to break it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import Q
from django.utils import timezone

from console.audit.actor import Actor
from tables.catalog import light_turns
from tables.catalog.adding import additions
from tables.models import Commit, Root, SyncTimes, Table
from tables.record import commit_rows
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, info, metadata

Added = Callable[[LogWriter], Table]


@pytest.fixture
def log(lake: Path) -> LogWriter:
    return LogWriter(lake / "orders")


@pytest.fixture
def added(admin: Actor, root: Root) -> Added:
    return lambda log: additions.add_table(admin, str(log.table)).table


def struct_of(*fields: Mapping[str, object]) -> str:
    usual = {"type": "string", "nullable": True, "metadata": {}}
    return json.dumps({"type": "struct", "fields": [usual | dict(field) for field in fields]})


def test_a_table_of_two_thousand_columns_has_its_schema(log: LogWriter, added: Added) -> None:
    wide = struct_of(*({"name": f"col_{n:04}"} for n in range(2000)))
    assert len(wide) > 100_000
    log.commit(0, info("CREATE TABLE"), PROTOCOL, metadata(schema=wide))
    table = added(log)
    assert table.schema is not None
    assert len(table.schema.columns) == 2000
    assert "col_1999" in table.words
    assert Commit.objects.get(table=table).schema == table.schema
    assert table.problems == []


def test_a_schema_that_is_too_long_is_said_to_be_missing(log: LogWriter, added: Added, monkeypatch) -> None:
    monkeypatch.setattr("tables.record.commit_rows.LONGEST_SCHEMA", 1 << 20)
    log.commit(0, info("CREATE TABLE"), PROTOCOL, metadata(schema=struct_of({"name": "x" * (1 << 20)})))
    table = added(log)
    assert table.schema is None
    assert table.problems[0]["reason"] == "the schema is not kept: it is longer than 1 MiB"
    assert table.health_codes == ["corrupt_log"]
    assert Commit.objects.filter(~Q(problems=[]), table=table).exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"struct","fields":[],"x":NaN}',
        '{"type":"struct","fields":[],"x":1e400}',
        '{"type":"struct","fields":[],"x":[[-1e999]]}',
        '{"type":"struct","fields":[],"x":' + "9" * 5000 + "}",
        '{"type":"struct","fields":' + "[" * 2000,
        '{"type":"struct","fields":'
        + '[{"name":"a","type":{"type":"struct","fields":' * 900
        + "[]"
        + "}}]" * 900
        + "}",
        '{"type":"struct"}',
        '["struct"]',
        "nonsense",
        "",
    ],
)
def test_a_schema_that_is_no_json_of_spark_is_a_problem(log: LogWriter, added: Added, text: str) -> None:
    log.commit(0, info("CREATE TABLE"), PROTOCOL, metadata(schema=text))
    table = added(log)
    assert (table.version, table.schema) == (0, None)
    assert any("schema" in problem["reason"] for problem in table.problems)
    assert "schema" in str(Commit.objects.get(table=table).problems)


def test_a_schema_loses_what_no_database_stores(log: LogWriter, added: Added) -> None:
    escaped = (
        r'{"type":"struct","fields":[{"name":"a\u0000b","type":"long","nullable":true,"metadata":{"c":"\ud800"}}]}'
    )
    log.commit(0, info("CREATE TABLE"), PROTOCOL, metadata(schema=escaped))
    table = added(log)
    assert table.schema is not None
    assert table.schema.columns == ["a\N{REPLACEMENT CHARACTER}b"]
    assert table.schema.struct["fields"][0]["metadata"] == {"c": "?"}


def test_a_log_that_the_database_refuses_stops_no_other_sync(log: LogWriter, added: Added, monkeypatch) -> None:
    log.create()
    table = added(log)
    log.commit(1, info())
    monkeypatch.setattr(commit_rows, "bounded", lambda value: 2**70)
    SyncTimes.objects.filter(pk=table.pk).update(next_sync_at=timezone.now() - timedelta(seconds=1))
    assert light_turns.do_next() is True
    table.refresh_from_db()
    assert table.sync_error.startswith("Levee couldn’t process this log: DataError: ")
    assert (table.version, table.times.quiet_syncs) == (0, 1)
    assert table.next_sync_at is not None
    assert table.next_sync_at > timezone.now()
    monkeypatch.undo()
    table = syncing.sync(table.pk)
    assert (table.version, table.sync_error) == (1, "")


def test_a_table_that_can_not_be_taken_in_is_added_with_the_reason(log: LogWriter, added: Added, monkeypatch) -> None:
    log.create()
    monkeypatch.setattr(commit_rows, "bounded", lambda value: 2**70)
    table = added(log)
    assert (table.version, table.synced_at) == (None, None)
    assert "DataError" in table.sync_error
    assert not Commit.objects.exists()


def random_name() -> str:
    """4,000 characters that no compression makes shorter, of three bytes each."""
    chance = random.Random(7)
    return "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(4000))


def test_long_names_of_operations_and_features_are_cut(log: LogWriter, added: Added) -> None:
    long = random_name()
    protocol = {
        "protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": [long]}
    }
    log.commit(0, info(long), protocol, metadata(**{long: long}))
    table = added(log)
    assert (table.version, table.sync_error) == (0, "")
    assert table.features == [f"{long[:200]}…"]
    commit = Commit.objects.get(table=table)
    assert commit.operation == f"{long[:200]}…"
    assert commit.protocol is not None
    assert commit.protocol["writer_features"] == [long]


def needing(*features: str) -> dict[str, object]:
    lists = {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **lists}}


def texts_of(table: Table, code: str) -> list[str]:
    return [finding["text"] for finding in table.health if finding["code"] == code]


def test_a_feature_that_levee_does_not_know_is_said(log: LogWriter, added: Added) -> None:
    log.commit(0, info("CREATE TABLE"), needing("timeMachine", "deletionVectors"), metadata())
    table = added(log)
    (text,) = texts_of(table, "needs_feature")
    assert text.startswith("The protocol requires timeMachine, which Levee can’t interpret.")
    assert table.num_records is None
    log.commit(1, info(), needing("deletionVectors"))
    assert syncing.sync(table.pk).health_codes == []


@pytest.mark.parametrize(
    ("version", "writers", "named"),
    [
        (7, ["timeMachine", "appendOnly"], "the feature timeMachine."),
        (8, ["appendOnly"], "writer version 8."),
        (7, ["appendOnly"], ""),
    ],
)
def test_a_writer_that_the_protocol_locks_out_is_said(
    log: LogWriter, added: Added, version: int, writers: list[str], named: str
) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": version, "writerFeatures": writers}
    log.commit(0, info("CREATE TABLE"), {"protocol": protocol}, metadata())
    table = added(log)
    assert table.health_codes == (["locks_writers_out"] if named else [])
    assert "".join(texts_of(table, "locks_writers_out")).endswith(named)


def test_a_protocol_of_unknown_features_names_some(log: LogWriter, added: Added) -> None:
    log.commit(0, info("CREATE TABLE"), needing(*(f"f{n}" for n in range(500))), metadata())
    assert len(texts_of(added(log), "needs_feature")) == 20


def test_an_action_that_levee_does_not_know_is_no_feature(log: LogWriter, added: Added) -> None:
    log.create({"timeTurner": {"hours": 3}})
    table = added(log)
    assert table.health_codes == ["unknown_actions"]
    (text,) = texts_of(table, "unknown_actions")
    assert text.startswith("1 entry of the log is of a kind that Levee doesn’t know: ")
    assert "'timeTurner'" in text
