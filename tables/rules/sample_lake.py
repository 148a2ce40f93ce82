"""The sample lake: parquet directories such as a shop's pipelines leave behind, written once at the first start.

The same rows every time. `CONVERSIONS` are turned into Delta tables by ordinary jobs of the first person; the rest
waits to be found and converted by hand, `returns` with two mistakes in it that a conversion has to refuse.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROOT_NAME = "sample"
DIRECTORY = "lake"
FIRST_DAY = date(2026, 10, 1)
COUNTRIES = ("AT", "DE", "FR", "IT", "PL")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A directory that the first start converts. `partition_schema` is Spark DDL; None means unpartitioned."""

    directory: str
    partition_schema: str | None
    reason: str


CONVERSIONS = (
    Conversion("customers", None, "Sample lake: an unpartitioned table to look at"),
    Conversion("shipments", "day date, carrier string", "Sample lake: a partitioned table to look at"),
)


@dataclass(frozen=True, slots=True)
class SampleStream:
    """A stream that the first start defines and nobody has started. `schema` is Spark DDL; directories are below the lake."""

    name: str
    source: str
    schema: str
    target: str
    interval: str
    files_per_batch: int
    reason: str


SAMPLE_STREAM = SampleStream(
    name="page-views-ingest",
    source="page_views",
    schema="viewed_at TIMESTAMP, path STRING, visitor STRING, took_ms INT, hour TIMESTAMP",
    target="page_views_stream",
    interval="30s",
    files_per_batch=6,
    reason="Sample lake: a stream to start and watch",
)

Files = Iterator[tuple[str, pa.Table]]


def write_lake(home: Path) -> Path:
    """Writes the lake below `home` and returns its directory; does nothing when it is there already.

    It appears whole or not at all: it is written beside its place and renamed.
    """
    lake = home / DIRECTORY
    if lake.exists():
        return lake
    partial = home / f".{DIRECTORY}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    for directory, files in _directories().items():
        for name, table in files:
            target = partial / directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, target, compression="snappy")
    (partial / "returns" / "readme.txt").write_text(
        "Loaded by hand in October; ask the warehouse team.\n", encoding="utf-8"
    )
    (partial / "orders" / "_SUCCESS").touch()
    partial.rename(lake)
    return lake


def _directories() -> dict[str, Files]:
    return {
        "orders": _orders(Random(1)),  # noqa: S311 - sample rows, not secrets
        "customers": _customers(Random(2)),  # noqa: S311
        "shipments": _shipments(Random(3)),  # noqa: S311
        "page_views": _page_views(Random(4)),  # noqa: S311
        "products": _products(Random(5)),  # noqa: S311
        "returns": _returns(Random(6)),  # noqa: S311
    }


def _orders(random: Random) -> Files:
    schema = pa.schema([
        ("order_id", pa.int64()),
        ("customer", pa.struct([("id", pa.int64()), ("email", pa.string())])),
        ("amount", pa.decimal128(12, 2)),
        ("currency", pa.string()),
        ("ordered_at", pa.timestamp("us", tz="UTC")),
        ("lines", pa.list_(pa.struct([("sku", pa.string()), ("quantity", pa.int32())]))),
        ("gift_note", pa.string()),
    ])  # fmt: skip
    number = 1_000_000
    for day in _days(30):
        for country in COUNTRIES:
            rows = [_order(random, number + step, day) for step in range(random.randint(20, 180))]
            number += len(rows)
            yield f"day={day}/country={country}/part-00000.snappy.parquet", pa.Table.from_pylist(rows, schema)


def _order(random: Random, number: int, day: date) -> dict[str, Any]:
    customer = random.randint(1, 5_000)
    return {
        "order_id": number,
        "customer": {"id": customer, "email": f"customer{customer}@example.com"},
        "amount": _money(random, 40_000),
        "currency": "EUR",
        "ordered_at": _moment(random, day),
        "lines": [{"sku": _sku(random), "quantity": random.randint(1, 4)} for _ in range(random.randint(1, 3))],
        "gift_note": random.choice((None, None, None, "Happy birthday", "With love")),
    }


def _customers(random: Random) -> Files:
    for part in range(2):
        first = part * 2_500 + 1
        ids = list(range(first, first + 2_500))
        yield f"part-{part:05}.snappy.parquet", pa.table({
            "id": pa.array(ids, pa.int64()),
            "email": [f"customer{i}@example.com" for i in ids],
            "country": [random.choice(COUNTRIES) for _ in ids],
            "since": [FIRST_DAY - timedelta(days=random.randint(0, 2_000)) for _ in ids],
            "newsletter": [random.random() < 0.4 for _ in ids],
            "credit_limit": pa.array([_money(random, 500_000) for _ in ids], pa.decimal128(12, 2)),
        })  # fmt: skip


def _shipments(random: Random) -> Files:
    number = 500_000
    for day in _days(14):
        for carrier in ("dhl", "gls", "post"):
            ids = list(range(number, number + random.randint(30, 120)))
            number += len(ids)
            yield f"day={day}/carrier={carrier}/part-00000.snappy.parquet", pa.table({
                "shipment_id": pa.array(ids, pa.int64()),
                "order_id": pa.array([random.randint(1_000_000, 1_015_000) for _ in ids], pa.int64()),
                "weight_kg": [round(random.uniform(0.1, 30), 3) for _ in ids],
                "delivered": [random.random() < 0.9 for _ in ids],
            })  # fmt: skip


def _page_views(random: Random) -> Files:
    """Partitioned by a timestamp, escaped in the directory's name as Spark does it."""
    for hour in range(24):
        start = datetime(2026, 10, 1, hour, tzinfo=UTC)
        moments = sorted(start + timedelta(seconds=random.uniform(0, 3_600)) for _ in range(random.randint(50, 400)))
        yield f"hour={start:%Y-%m-%d %H%%3A%M%%3A%S}/part-00000.snappy.parquet", pa.table({
            "viewed_at": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "path": [random.choice(("/", "/cart", "/search", f"/p/{_sku(random)}")) for _ in moments],
            "visitor": [f"{random.getrandbits(64):016x}" for _ in moments],
            "took_ms": pa.array([random.randint(4, 900) for _ in moments], pa.int32()),
        })  # fmt: skip


def _products(random: Random) -> Files:
    skus = [f"SKU-{i:04}" for i in range(400)]
    colors = [[("color", random.choice(("red", "blue", "oak")))] for _ in skus]
    yield "part-00000.snappy.parquet", pa.table({
        "sku": skus,
        "price": pa.array([_money(random, 20_000) for _ in skus], pa.decimal128(10, 2)),
        "attributes": pa.array(colors, pa.map_(pa.string(), pa.string())),
    })  # fmt: skip


def _returns(random: Random) -> Files:
    """The newer half has `amount_cents` as bigint where the older one has int: Delta does not merge these."""
    for index, day in enumerate(_days(8)):
        width = pa.int32() if index < 4 else pa.int64()
        ids = [random.randint(1_000_000, 1_015_000) for _ in range(40)]
        yield f"day={day}/part-00000.snappy.parquet", pa.table({
            "order_id": pa.array(ids, pa.int64()),
            "amount_cents": pa.array([random.randint(100, 40_000) for _ in ids], width),
            "why": [random.choice(("damaged", "late", "wrong size")) for _ in ids],
        })  # fmt: skip


def _days(count: int) -> list[date]:
    return [FIRST_DAY + timedelta(days=offset) for offset in range(count)]


def _moment(random: Random, day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=random.uniform(0, 86_399))


def _money(random: Random, up_to_cents: int) -> Decimal:
    return Decimal(random.randint(100, up_to_cents)) / 100


def _sku(random: Random) -> str:
    return f"SKU-{random.randint(0, 399):04}"
