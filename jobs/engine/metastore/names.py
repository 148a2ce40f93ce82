"""Reads of a Hive metastore: its databases and what it keeps of their tables, by Spark's own Hive client."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from console.base.text.masking import masked_line
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.catalog import location_text
from jobs.engine.metastore.connection import ADDRESS, SETTING, away, why_away

CLASSES = re.compile(r"^(?:Got exception: |(?:[a-z]\w*\.)+[A-Z]\w*:? )+")  # before the words that tell something
PAGE = 200  # tables of one answer
MAX_COLUMNS = 1_000  # of a declaration that an answer carries
REMEDY = "Start it, or correct the setting and restart Levee. Nothing else waits for it."
PATIENCE = 5.0  # seconds that a question waits for the one before it; a read has 30
REMEMBERED = 10.0  # seconds in which questions fail at once after one that found the metastore away
_clients: dict[str, Any] = {}
_failures: dict[str, tuple[float, CommandRefused]] = {}  # by address: until when, and what
_asking = threading.Lock()  # the client answers one question at a time


def read_metastore(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `metastore` read.

    Without a `database`: `{databases: [name]}`. With one: `{database, tables, total, next}`, tables after `cursor` (a name) by name,
    PAGE at most; with `names` those tables alone, without the ones that aren't there. A table is `{name, type, format, location,
    schema, partition_columns}`; `type` is managed, external or view, or `unreadable` with `why` where Spark can't take what the
    metastore keeps; a parquet table alone has `schema`, Spark's JSON. Raises CommandRefused: `no_metastore` without the setting,
    `metastore_away`, `no_database`.
    """
    with _asked(session) as client:
        database = question.get("database")
        if database is None:
            return {"databases": _lines(client.listDatabases())}
        return _tables(session, client, str(database), question)


def _tables(session: SparkSession, client: Any, database: str, question: Mapping[str, Any]) -> dict[str, Any]:
    if not client.databaseExists(database):
        raise CommandRefused(Refusal("no_database", f"The metastore has no database {database}.", place="database"))
    every = sorted(_lines(client.listTables(database)))
    if (names := question.get("names")) is not None:
        there, after = sorted(set(names) & set(every)), None
    else:
        rest = [name for name in every if name > str(question.get("cursor") or "")]
        there, after = rest[:PAGE], rest[PAGE - 1] if len(rest) > PAGE else None
    tables = _described(session, client, database, there)
    return {"database": database, "tables": tables, "total": len(every), "next": after}


def _described(session: SparkSession, client: Any, database: str, names: Sequence[str]) -> list[dict[str, Any]]:
    chunks = (names[start : start + PAGE] for start in range(0, len(names), PAGE))
    tables = [table for chunk in chunks for table in _chunk(session, client, database, chunk)]
    return sorted(tables, key=lambda table: str(table["name"]))


def _chunk(session: SparkSession, client: Any, database: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The tables in one question; one by one if Spark can't take one of them, which fails the question as a whole."""
    jvm: Any = session._jvm
    try:
        found = client.getTablesByName(database, jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(names)))
        return [_described_one(found.apply(position)) for position in range(found.size())]
    except (Py4JJavaError, CapturedException):
        return [_readable(client, database, name) for name in names]


def _readable(client: Any, database: str, name: str) -> dict[str, Any]:
    """The table, or why Spark can't read it. Raises the client's error if the metastore itself is away."""
    try:
        return _described_one(client.getTable(database, name))
    except (Py4JJavaError, CapturedException) as error:
        client.databaseExists(database)
        nothing = dict.fromkeys(("format", "location", "schema", "partition_columns"))
        return {"name": name, "type": "unreadable", **nothing, "why": _root_message(error)}


def _described_one(table: Any) -> dict[str, Any]:
    """What the metastore keeps of a table; None where it keeps nothing."""
    kind = str(table.tableType().name()).lower()
    storage = table.storage()
    uri = storage.locationUri()
    form = None if kind == "view" else _format(table, storage)
    declared = form == "parquet"
    return {
        "name": str(table.identifier().table()),
        "type": kind,
        "format": form,
        "location": location_text(uri.get()) if uri.isDefined() and kind != "view" else None,
        "schema": _schema(table) if declared else None,
        "partition_columns": _lines(table.partitionColumnNames()) if declared else None,
    }


def _format(table: Any, storage: Any) -> str | None:
    """delta, parquet, …: the provider of Spark's tables, and what a table of Hive's own is stored as."""
    provider = table.provider()
    name = str(provider.get()).lower() if provider.isDefined() else None
    if name not in (None, "hive"):
        return name
    serde = storage.serde()
    return "parquet" if serde.isDefined() and "parquet" in str(serde.get()).lower() else name


def _schema(table: Any) -> dict[str, Any] | None:
    schema: dict[str, Any] = json.loads(table.schema().json())
    return schema if 0 < len(schema["fields"]) <= MAX_COLUMNS else None


def _lines(names: Any) -> list[str]:
    """A Scala sequence of names in one call of the JVM; no name of a metastore has a line break."""
    text = str(names.mkString("\n"))
    return text.split("\n") if text else []


@contextmanager
def _asked(session: SparkSession) -> Iterator[Any]:
    """The JVM's Hive client for the configured metastore. Failures of the client become CommandRefused `metastore_away`.

    Questions take turns, so that those behind a slow one neither pile up in the JVM nor wait past their limit.
    """
    address = session.sparkContext.getConf().get(ADDRESS)
    if not address:
        raise CommandRefused(Refusal("no_metastore", f"{SETTING} isn’t set: Levee knows no metastore."))
    if not _asking.acquire(timeout=PATIENCE):
        raise _away(address, "it is still answering another question")
    try:
        known = _failures.get(address)
        if known is not None and time.monotonic() < known[0]:
            raise CommandRefused(*known[1].refusals)
        yield from _client_at(session, address)
    finally:
        _asking.release()


def _client_at(session: SparkSession, address: str) -> Iterator[Any]:
    """Its port is tried first: the client itself would try again for half a minute."""
    if why := why_away(address):
        raise _remembered(address, why)
    key = str(session.sparkContext.applicationId)
    try:
        yield _client(session, key)
    except (Py4JJavaError, CapturedException) as error:  # Spark wraps most of the client's failures
        _clients.pop(key, None)  # the next question connects anew
        raise _remembered(address, _root_message(error)) from None
    _failures.pop(address, None)


def _client(session: SparkSession, key: str) -> Any:
    if key not in _clients:
        jvm: Any = session._jvm
        context: Any = session.sparkContext._jsc
        made = jvm.org.apache.spark.sql.hive.HiveExternalCatalog(context.sc().conf(), context.hadoopConfiguration())
        _clients[key] = made
    return _clients[key]


def _remembered(address: str, why: str) -> CommandRefused:
    refused = _away(address, why)
    _failures[address] = time.monotonic() + REMEMBERED, refused
    return refused


def _away(address: str, why: str) -> CommandRefused:
    return CommandRefused(Refusal("metastore_away", away(address, why), place=SETTING, remedy=REMEDY))


def _root_message(error: Py4JJavaError | CapturedException) -> str:
    """The innermost cause, which is the one that names it: a password, a missing table, a lost connection."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
    if cause is None:
        return masked_line(str(error).strip().split("\n")[0])[:500]
    for _ in range(30):
        inner = cause.getCause()
        if inner is None:
            break
        cause = inner
    text = str(cause.getMessage() or cause.getClass().getName())
    return masked_line(CLASSES.sub("", text.strip().split("\n")[0]))[:500]
