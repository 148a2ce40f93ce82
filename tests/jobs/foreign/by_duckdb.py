"""Tables that DuckDB has appended to: it makes none, and deletes nothing from them, so deltalake makes them first.

The extension for Delta comes as a package beside DuckDB's own: none is downloaded.
"""

from __future__ import annotations

import importlib
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.jobs.foreign.deltalake_api import rows
from tests.jobs.foreign.deltalake_api import table as table_of
from tests.jobs.foreign.deltalake_api import write as made
from tests.jobs.foreign.deltalake_kinds import TEXTS
from tests.jobs.foreign.write import Recipe

RECIPES: dict[str, Recipe] = {}


def recipe(make: Recipe) -> Recipe:
    RECIPES[make.__name__] = make
    return make


def insert(path: Path, data: pa.Table) -> None:
    """Appends the rows by one transaction of DuckDB. A constraint it would refuse."""
    duckdb: Any = importlib.import_module("duckdb")
    extension = Path(str(importlib.import_module("duckdb_extension_delta").__file__)).parent
    [built] = extension.glob("extensions/*/delta.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{built}'")
    connection.execute(f"ATTACH '{path}' AS target (TYPE delta)")
    connection.register("given", data)
    connection.execute("INSERT INTO target SELECT * FROM given")
    connection.close()


@recipe
def plain(path: Path) -> None:
    made(path, rows())
    insert(path, rows(20))


@recipe
def several(path: Path) -> None:
    made(path, rows())
    for start in (20, 40, 60):
        insert(path, rows(start))
    table_of(path).delete("id = 45")


@recipe
def checkpointed(path: Path) -> None:
    made(path, rows())
    insert(path, rows(20))
    table_of(path).create_checkpoint()
    insert(path, rows(40))


def each_row(path: Path, data: pa.Table) -> None:
    """Inserted by itself: a transaction of this version writes to one partition."""
    for at in range(data.num_rows):
        insert(path, data.slice(at, 1))


@recipe
def by_texts(path: Path) -> None:
    made(path, rows(0, len(TEXTS), p=pa.array(TEXTS)), partition_by=["p"])
    each_row(path, rows(len(TEXTS), len(TEXTS), p=pa.array(TEXTS)))


@recipe
def by_kinds(path: Path) -> None:
    parts: dict[str, Any] = {
        "day": pa.array([date(2024, 2, 29), None, date(1969, 12, 31), date(2024, 1, 1)], pa.date32()),
        "price": pa.array([Decimal("1.10"), Decimal("7.05"), None, Decimal("100.00")], pa.decimal128(10, 2)),
        "n": pa.array([1, -1, 0, None], pa.int32()),
        "ok": pa.array([True, False, None, True], pa.bool_()),
    }
    made(path, rows(0, 4, **parts), partition_by=list(parts))
    each_row(path, rows(4, 4, **parts))


@recipe
def kinds(path: Path) -> None:
    def data(start: int) -> pa.Table:
        moment = datetime(2020, 1, 1, 12, 30, 15, tzinfo=UTC)
        return rows(
            start, 4, moment=pa.array([moment] * 3 + [None], pa.timestamp("us", "UTC")), day=pa.array([date(2020, 1, 1)] * 4),
            price=pa.array([Decimal("12345678901234567890.12")] * 4, pa.decimal128(38, 2)), d=pa.array([float("nan"), 1.0, None, 2.0]),
            text=pa.array(["z" * 60, "\U0001f600" * 40, "", None]), ok=pa.array([True, None] * 2),
        )  # fmt: skip

    made(path, data(0))
    insert(path, data(4))


@recipe
def nested(path: Path) -> None:
    point = pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string())]))])

    def data(start: int) -> pa.Table:
        return rows(
            start,
            4,
            point=pa.array([{"x": 1, "deep": {"y": "y"}}, None] * 2, point),
            several=pa.array([[1], None] * 2, pa.list_(pa.int64())),
        )

    made(path, data(0))
    insert(path, data(4))


@recipe
def append_only(path: Path) -> None:
    made(path, rows(), configuration={"delta.appendOnly": "true"})
    insert(path, rows(20))
