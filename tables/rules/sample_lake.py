"""The sample lake: parquet directories such as a shop's pipelines leave behind, and Delta tables with a past, written at the first start.

The same rows every time; the Delta tables' times count back from that start. `CONVERSIONS` are turned into Delta tables by ordinary
jobs of the first person; the rest of the directories waits to be found and converted by hand, `returns` with two mistakes in it that
a conversion has to refuse. While a stream reads `page_views`, an hour more of them arrives each minute, as from a pipeline that works.

What was written is on record beside the lake (`WRITTEN`), so that exactly this can be deleted.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tables.rules.sample_tables import features, sales

ROOT_NAME = "sample"
DIRECTORY = "lake"
STORY_DIRECTORY = "orders"  # of the guided first story
WRITTEN = "lake.files"  # beside the lake: what was written into it, a line for each file
FIRST_DAY = date(2026, 10, 1)
COUNTRIES = ("AT", "DE", "FR", "IT", "PL")


class _Root(Protocol):
    name: str
    uri: str


def is_of_story(path: str, root: _Root) -> bool:
    """Whether it is the table of the guided first story."""
    return root.name == ROOT_NAME and path == f"{root.uri}/{STORY_DIRECTORY}"


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

MOST_HOURS = 500  # of page views: then the directory grows no more
ARRIVES_EVERY = timedelta(minutes=1)

Files = Iterator[tuple[str, pa.Table]]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that this module wrote: its path below the lake, its size in bytes and its time, by which it is known again."""

    path: str
    size: int
    modified_ns: int


DELTA_TABLES = ("sales", *(writer.__name__ for writer in features.TABLES))


def write_lake(home: Path, now: datetime | None = None) -> Path:
    """Writes the lake below `home` and returns its directory; does nothing when it is there already.

    It appears whole or not at all: it is written beside its place and renamed. The Delta tables' newest commits are shortly before `now`.
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
    _write_delta_tables(partial, now or datetime.now(UTC))
    _record(home, partial)
    partial.rename(lake)
    return lake


def _record(home: Path, lake: Path) -> None:
    """Writes down all files of a lake that is about to appear."""
    files = sorted(file for file in lake.rglob("*") if file.is_file())
    text = "".join(_line(file, str(file.relative_to(lake))) for file in files)
    (home / WRITTEN).write_text(text, encoding="utf-8")


def _line(file: Path, path: str) -> str:
    state = file.lstat()
    return f"{json.dumps([path, state.st_size, state.st_mtime_ns])}\n"


def is_sample(home: Path, uri: str) -> bool:
    """Whether a root's place is the lake that was written into this home."""
    return (home / WRITTEN).is_file() and uri == str((home / DIRECTORY).resolve())


def written(home: Path) -> list[WrittenFile]:
    """What this module wrote into the lake of a home; empty where nothing is on record. A line that was cut counts as none."""
    try:
        lines = (home / WRITTEN).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError):  # cut: a list without its end
            found.append(WrittenFile(*json.loads(line)))
    return found


def grow(home: Path, now: datetime) -> bool:
    """Adds the next hour of page views, if the newest is ARRIVES_EVERY old or older; False if it isn't time, or there are enough.

    A directory that was converted to Delta or taken away grows no more. The file appears whole.
    """
    directory = home / DIRECTORY / SAMPLE_STREAM.source
    hours = sorted(directory.glob("hour=*")) if not (directory / "_delta_log").exists() else []
    if not hours or hours[-1].stat().st_mtime > (now - ARRIVES_EVERY).timestamp():
        return False
    try:
        start = datetime.strptime(hours[-1].name, f"hour={HOUR}").replace(tzinfo=UTC) + timedelta(hours=1)
    except ValueError:  # a directory of somebody else's
        return False
    number = int((start - _first_hour()) / timedelta(hours=1))
    if number >= MOST_HOURS:
        return False
    target = directory / f"hour={start:{HOUR}}" / "part-00000.snappy.parquet"
    arriving = directory / ".arriving.parquet"
    pq.write_table(_views(Random(1_000 + number), start), arriving, compression="snappy")  # nosec B311  # noqa: S311
    _add_to_record(home / WRITTEN, _line(arriving, str(target.relative_to(home / DIRECTORY))))  # before it appears
    target.parent.mkdir()
    arriving.replace(target)
    return True


def _add_to_record(record: Path, line: str) -> None:
    """Adds a line of its own: the one before may have been cut, by a full disk."""
    is_cut = not record.read_bytes().endswith(b"\n")
    with record.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}" if is_cut else line)


def _write_delta_tables(lake: Path, now: datetime) -> None:
    sales.write(lake / "sales", now, Random(7))  # nosec B311  # noqa: S311
    for number, writer in enumerate(features.TABLES):
        writer(lake / writer.__name__, now, Random(8 + number))  # nosec B311  # noqa: S311


def _directories() -> dict[str, Files]:
    return {
        "orders": _orders(Random(1)),  # nosec B311  # noqa: S311 - sample rows, not secrets
        "customers": _customers(Random(2)),  # nosec B311  # noqa: S311
        "shipments": _shipments(Random(3)),  # nosec B311  # noqa: S311
        "page_views": _page_views(Random(4)),  # nosec B311  # noqa: S311
        "products": _products(Random(5)),  # nosec B311  # noqa: S311
        "returns": _returns(Random(6)),  # nosec B311  # noqa: S311
    }


def _orders(dice: Random) -> Files:
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
            rows = [_order(dice, number + step, day) for step in range(dice.randint(20, 180))]
            number += len(rows)
            yield f"day={day}/country={country}/part-00000.snappy.parquet", pa.Table.from_pylist(rows, schema)


def _order(dice: Random, number: int, day: date) -> dict[str, Any]:
    customer = dice.randint(1, 5_000)
    return {
        "order_id": number,
        "customer": {"id": customer, "email": f"customer{customer}@example.com"},
        "amount": _money(dice, 40_000),
        "currency": "EUR",
        "ordered_at": _moment(dice, day),
        "lines": [{"sku": _sku(dice), "quantity": dice.randint(1, 4)} for _ in range(dice.randint(1, 3))],
        "gift_note": dice.choice((None, None, None, "Happy birthday", "With love")),
    }


def _customers(dice: Random) -> Files:
    for part in range(2):
        first = part * 2_500 + 1
        ids = list(range(first, first + 2_500))
        yield f"part-{part:05}.snappy.parquet", pa.table({
            "id": pa.array(ids, pa.int64()),
            "email": [f"customer{i}@example.com" for i in ids],
            "country": [dice.choice(COUNTRIES) for _ in ids],
            "since": [FIRST_DAY - timedelta(days=dice.randint(0, 2_000)) for _ in ids],
            "newsletter": [dice.random() < 0.4 for _ in ids],
            "credit_limit": pa.array([_money(dice, 500_000) for _ in ids], pa.decimal128(12, 2)),
        })  # fmt: skip


def _shipments(dice: Random) -> Files:
    number = 500_000
    for day in _days(14):
        for carrier in ("dhl", "gls", "post"):
            ids = list(range(number, number + dice.randint(30, 120)))
            number += len(ids)
            yield f"day={day}/carrier={carrier}/part-00000.snappy.parquet", pa.table({
                "shipment_id": pa.array(ids, pa.int64()),
                "order_id": pa.array([dice.randint(1_000_000, 1_015_000) for _ in ids], pa.int64()),
                "weight_kg": [round(dice.uniform(0.1, 30), 3) for _ in ids],
                "delivered": [dice.random() < 0.9 for _ in ids],
            })  # fmt: skip


HOUR = "%Y-%m-%d %H%%3A%M%%3A%S"  # escaped in a directory's name as Spark does it


def _first_hour() -> datetime:
    return datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day, tzinfo=UTC)


def _page_views(dice: Random) -> Files:
    """Partitioned by a timestamp."""
    for hour in range(24):
        start = _first_hour() + timedelta(hours=hour)
        yield f"hour={start:{HOUR}}/part-00000.snappy.parquet", _views(dice, start)


def _views(dice: Random, start: datetime) -> pa.Table:
    """The views of one hour."""
    moments = sorted(start + timedelta(seconds=dice.uniform(0, 3_600)) for _ in range(dice.randint(50, 400)))
    return pa.table({
        "viewed_at": pa.array(moments, pa.timestamp("us", tz="UTC")),
        "path": [dice.choice(("/", "/cart", "/search", f"/p/{_sku(dice)}")) for _ in moments],
        "visitor": [f"{dice.getrandbits(64):016x}" for _ in moments],
        "took_ms": pa.array([dice.randint(4, 900) for _ in moments], pa.int32()),
    })  # fmt: skip


def _products(dice: Random) -> Files:
    skus = [f"SKU-{i:04}" for i in range(400)]
    colors = [[("color", dice.choice(("red", "blue", "oak")))] for _ in skus]
    yield "part-00000.snappy.parquet", pa.table({
        "sku": skus,
        "price": pa.array([_money(dice, 20_000) for _ in skus], pa.decimal128(10, 2)),
        "attributes": pa.array(colors, pa.map_(pa.string(), pa.string())),
    })  # fmt: skip


def _returns(dice: Random) -> Files:
    """The newer half has `amount_cents` as bigint where the older one has int: Delta does not merge these."""
    for index, day in enumerate(_days(8)):
        width = pa.int32() if index < 4 else pa.int64()
        ids = [dice.randint(1_000_000, 1_015_000) for _ in range(40)]
        yield f"day={day}/part-00000.snappy.parquet", pa.table({
            "order_id": pa.array(ids, pa.int64()),
            "amount_cents": pa.array([dice.randint(100, 40_000) for _ in ids], width),
            "why": [dice.choice(("damaged", "late", "wrong size")) for _ in ids],
        })  # fmt: skip


def _days(count: int) -> list[date]:
    return [FIRST_DAY + timedelta(days=offset) for offset in range(count)]


def _moment(dice: Random, day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=dice.uniform(0, 86_399))


def _money(dice: Random, up_to_cents: int) -> Decimal:
    return Decimal(dice.randint(100, up_to_cents)) / 100


def _sku(dice: Random) -> str:
    return f"SKU-{dice.randint(0, 399):04}"
