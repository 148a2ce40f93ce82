"""How fast the catalog answers when it is large, for a person who may see part of it.

`python -m tests.bench.catalog` loads 100,000 tables and 10,000,000 commits by COPY into a PostgreSQL of its own and writes the section
"The catalog at size" of docs/benchmarks.md; `--tiny` does the same steps with 200 tables in seconds. Times are the server's: from
the request's arrival to the last byte of the answer, without a network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

from console.supervisor.servers import postgres
from tests import servers
from tests.bench.document import DOCUMENT, put_into

TITLE = "## The catalog at size"
BAR_MS = 50
COUNTED = 4  # rounds in which queries are counted, which takes time of its own
NOW = datetime.now(UTC).replace(microsecond=0)
WORDS = ("orders", "customers", "events", "returns", "payments", "clicks", "shipments", "stock", "prices", "visits")
PROTOCOL = json.dumps(
    {
        "min_reader_version": 1,
        "min_writer_version": 2,
        "reader_features": None,
        "writer_features": None,
        "implied_features": [],
    }
)
AREAS = ("sales", "shop", "web", "finance", "crm", "lab", "archive", "staging", "risk", "hr")


@dataclass(frozen=True)
class Size:
    tables: int
    commits: int
    deep: int  # commits of the one table whose history is paged to its end
    rounds: int


FULL = Size(tables=100_000, commits=10_000_000, deep=200_000, rounds=60)
TINY = Size(tables=200, commits=2_000, deep=500, rounds=3)


def table_rows(size: Size, roots: list[uuid.UUID], schema: str) -> Iterator[tuple[Any, ...]]:
    """The rows of tables_table for COPY, in the order of TABLE_COLUMNS."""
    from tables.rules import search_index

    chance = random.Random(1)
    for place in range(size.tables):
        area, word = AREAS[place % 10], WORDS[place // 10 % 10]
        name = f"{area}/{word}_{place:06}"
        root = roots[place % len(roots)]
        path = f"/bench/{place % len(roots)}/{name}"
        words = search_index.words([name, path, "order_id", "customer_id", "amount", "day", f"owner{place % 50}"])
        health = ["small_files"] if place % 50 == 0 else []
        yield (
            uuid.UUID(int=place + 1), root, path, name, "delta", f"owner{place % 50}", "", [], NOW, 0, str(uuid.uuid4()), "", 99, 0, 0,
            NOW - timedelta(minutes=chance.randrange(500_000)), chance.randrange(10**12), chance.randrange(10**4), chance.randrange(10**9),
            schema, [], [], "{}", PROTOCOL,
            ["appendOnly", "invariants"], "", "{}", "[]", "[]", health, "", search_index.normal(name.rpartition("/")[2]), words,
            search_index.grams(words) + search_index.later_words(search_index.normal(name.rpartition("/")[2])),
        )  # fmt: skip


TABLE_COLUMNS = [
    "id",
    "root_id",
    "path",
    "name",
    "format",
    "owner",
    "description",
    "tags",
    "added_at",
    "incarnation",
    "table_id",
    "head_mark",
    "version",
    "first_version",
    "first_readable",
    "last_commit_at",
    "size_bytes",
    "num_files",
    "num_records",
    "schema_id",
    "partition_columns",
    "clustering_columns",
    "properties",
    "protocol",
    "features",
    "comment",
    "log_state",
    "problems",
    "health",
    "health_codes",
    "sync_error",
    "leaf",
    "words",
    "grams",
]
COMMIT_COLUMNS = [
    "table_id",
    "incarnation",
    "version",
    "committed_at",
    "operation",
    "operation_parameters",
    "operation_metrics",
    "user_name",
    "engine_info",
    "isolation_level",
    "txn_id",
    "user_metadata",
    "files_added",
    "files_removed",
    "bytes_added",
    "bytes_removed",
    "rows_added",
    "rows_removed",
    "rows_changed",
    "schema_id",
    "properties",
    "problems",
]


def commit_rows(size: Size, schema: str) -> Iterator[tuple[Any, ...]]:
    """The first table has `deep` commits, the others share the rest evenly."""
    each = max(1, (size.commits - size.deep) // max(1, size.tables - 1))
    for place in range(size.tables):
        count = size.deep if place == 0 else each
        start = NOW - timedelta(minutes=5 * count)
        for version in range(count):
            operation = _operation(version)
            first, gone = version == 0, 2 if operation == "DELETE" else 0
            yield (
                uuid.UUID(int=place + 1), 0, version, start + timedelta(minutes=5 * version), operation, '{"mode":"Append"}', "{}",
                f"person{version % 7}", "Spark", "Serializable", "", "", 4, gone, 4096, 512 * gone, 100, 0, 100, schema if first else None,
                "{}" if first else None, "[]",
            )  # fmt: skip


def _operation(version: int) -> str:
    """A delete now and then, a vacuum a day."""
    if version % 288 in (100, 101):
        return ("VACUUM START", "VACUUM END")[version % 288 - 100]
    return "DELETE" if version % 97 == 13 else "WRITE"


def load(size: Size) -> dict[str, Any]:
    """Fills the database; the ids that the measurements need."""
    from django.db import connections

    from console.accounts.roles import Role
    from tables.catalog import facets
    from tables.models import Root, Schema
    from tests import factories

    roots: list[Root] = [factories.RootFactory(name=f"root{n}", uri=f"/bench/{n}") for n in range(10)]
    struct = {"type": "struct", "fields": [{"name": "order_id", "type": "long", "nullable": True, "metadata": {}}]}
    schema = Schema.objects.create(sha256="0" * 64, struct=struct, columns=["order_id"])
    person = factories.person_named("partial")
    for root in roots[:4]:
        factories.GrantFactory(person=person, role=Role.VIEWER, root=root)
    with connections["admin"].cursor() as cursor:
        copy_rows(cursor, "tables_table", TABLE_COLUMNS, table_rows(size, [root.pk for root in roots], schema.pk))
        copy_rows(cursor, "tables_commit", COMMIT_COLUMNS, commit_rows(size, schema.pk))
        cursor.execute("update tables_table set version = %s where id = %s", [size.deep - 1, uuid.UUID(int=1)])
        cursor.execute("update tables_synctimes set synced_at = %s", [NOW])
    with connections["admin"].cursor() as cursor:
        cursor.execute(import_module("tables.migrations.0022_kinds_of_days").COUNTED)
        cursor.execute("vacuum analyze tables_tableday")
        cursor.execute("vacuum analyze tables_table")
        cursor.execute("vacuum analyze tables_synctimes")
        cursor.execute("vacuum analyze tables_commit")
    for root in Root.objects.all():
        facets.refresh(root)
    return {"person": person, "deep": uuid.UUID(int=1)}


def copy_rows(cursor: Any, table: str, columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin") as copy:
        for row in rows:
            copy.write_row(row)


def requests(found: dict[str, Any], size: Size) -> dict[str, Callable[[int], str]]:
    """Name → the address of the nth request of its kind."""
    deep = found["deep"]

    def some(place: int) -> uuid.UUID:
        return uuid.UUID(int=1 + (place * 7919 // 10 * 10 + place % 4) % size.tables)

    def before(place: int) -> int:
        return (place * 104_729) % size.deep

    return {
        "home": lambda _: "/",
        "list": lambda place: (
            "/tables/",
            "/tables/?order=-size",
            "/tables/?order=-changed",
            "/tables/?health=small_files",
        )[place % 4],
        "search, a word that a tenth has": lambda place: f"/tables/?q={WORDS[place % 10]}",
        "search, a part that all have": lambda place: (
            f"/tables/?q={('er', 'order_id', 'a', 'bench', 'mount')[place % 5]}"
        ),
        "search, one table": lambda place: f"/tables/?q={place * 4:06}",
        "table": lambda place: f"/tables/{some(place)}/",
        "history, the newest, with its drawings": lambda place: (
            f"/tables/{deep if place % 2 else some(place)}/history/"
        ),
        "history at any depth": lambda place: f"/tables/{deep}/history/?before={before(place)}",
        "history, one operation": lambda place: f"/tables/{deep}/history/?operation=DELETE&before={before(place)}",
        "history, destructive": lambda place: f"/tables/{deep}/history/?operation=destructive&before={before(place)}",
        "history, by a person": lambda place: f"/tables/{deep}/history/?by=person{place % 7}&before={before(place)}",
        "commit": lambda place: f"/tables/{deep}/commits/{before(place)}/",
        "schema": lambda place: f"/tables/{some(place)}/schema/",
        "API, list": lambda place: f"/api/v1/tables?limit=100&order={('name', '-size')[place % 2]}",
        "API, history": lambda place: f"/api/v1/tables/{deep}/history?before={before(place)}",
    }


def measure(found: dict[str, Any], size: Size) -> dict[str, dict[str, float]]:
    """Median, 95th percentile and number of queries of each kind of request, in milliseconds; the kinds take turns."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(found["person"])
    kinds = requests(found, size)
    times: dict[str, list[float]] = {name: [] for name in kinds}
    queries: dict[str, int] = {}
    for place in range(COUNTED):  # these rounds fill caches, too, that a running console has
        for name, address in kinds.items():
            with CaptureQueriesContext(connection) as asked:
                client.get(address(place))
            queries[name] = max(queries.get(name, 0), len(asked))
    for place in range(size.rounds):
        for name, address in kinds.items():
            start = time.perf_counter()
            answer = client.get(address(place))
            times[name].append((time.perf_counter() - start) * 1000)
            assert answer.status_code == 200, (address(place), answer.content[:500])
    return {
        name: {"median": statistics.median(each), "p95": sorted(each)[int(len(each) * 0.95)], "queries": queries[name]}
        for name, each in times.items()
    }


def run(size: Size) -> dict[str, Any]:
    """The whole bench on a server of its own."""
    home = servers.prepare_environment()
    try:
        with servers.running_postgres(home):
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", database="admin", verbosity=0)
            start = time.perf_counter()
            found = load(size)
            seconds = time.perf_counter() - start
            with postgres.connect(home) as superuser:  # what the load wrote is on disk before anything is measured
                superuser.execute("checkpoint")
            return {"load_s": seconds, "requests": measure(found, size)}
    finally:
        servers.remove(home)


def report(size: Size, results: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md."""
    rows = "\n".join(
        f"| {name} | {each['median']:.0f} ms | {each['p95']:.0f} ms | {each['queries']:.0f} | ≤ {BAR_MS} ms |"
        for name, each in results["requests"].items()
    )
    return f"""{TITLE}

`python -m tests.bench.catalog`: {size.tables:,} tables and {size.commits:,} commits, loaded by COPY in {results["load_s"]:.0f} s,
asked by a person who may see 4 of 10 roots. Server time over {size.rounds} requests of each kind, the kinds taking turns;
{os.cpu_count()} processors ({platform.machine()}, Python {platform.python_version()}).

| request | median | p95 | queries | bar (p95) |
|---|---|---|---|---|
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--commits", type=int, default=FULL.commits, help="fewer than the full size, for a look")
    asked = parser.parse_args()
    size = TINY if asked.tiny else replace(FULL, commits=asked.commits)
    results = run(size)
    print(json.dumps(results, indent=1))
    if size == FULL:
        put_into(DOCUMENT, report(size, results))


if __name__ == "__main__":
    main()
