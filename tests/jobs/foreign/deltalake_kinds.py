"""Tables as deltalake writes them: partitions, types and statistics of every kind."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.jobs.foreign.deltalake_api import by_rust, rows, write
from tests.jobs.foreign.write import Recipe

TEXTS = (
    "a b",
    "50%",
    "x/y",
    "ü",
    "a:b",
    "",
    "it's",
    "a=b",
    "{x}",
    "#?&",
    "\U0001f600",
    'q"q',
    "b\\s",
    "t\tt",
    "é%20",
    "a+b",
    ".",
    "%2F",
    None,
)
START = datetime(2020, 1, 1, 12, 30, 15, 123456)
RECIPES: dict[str, Recipe] = {}


def recipe(made: Recipe) -> Recipe:
    RECIPES[made.__name__.rstrip("_")] = made
    return made


@recipe
def by_texts(path: Path) -> None:
    for start in (0, len(TEXTS)):
        write(path, rows(start, len(TEXTS), p=pa.array(TEXTS)), partition_by=["p"])


@recipe
def by_kinds(path: Path) -> None:
    """Partitions by a date, a decimal, a number and a truth, each with NULL."""
    count = 4
    parts: dict[str, Any] = {
        "day": pa.array([date(2024, 2, 29), None, date(1969, 12, 31), date(2024, 1, 1)], pa.date32()),
        "price": pa.array([Decimal("1.10"), Decimal("7.05"), None, Decimal("100.00")], pa.decimal128(10, 2)),
        "n": pa.array([1, -1, 0, None], pa.int32()),
        "ok": pa.array([True, False, None, True], pa.bool_()),
    }
    for start in (0, count):
        write(path, rows(start, count, **parts), partition_by=list(parts))


@recipe
def by_negative_decimals(path: Path) -> None:
    """Some versions write the partition of -7.05 as `-7.-5`, and fail at their own table once it is committed."""
    prices = pa.array([Decimal("0.05"), Decimal("-0.05"), Decimal("-7.50"), None], pa.decimal128(10, 2))
    try:
        write(path, rows(0, 4, price=prices), partition_by=["price"])
    except Exception:
        if not (path / "_delta_log" / f"{0:020d}.json").exists():
            raise


@recipe
def by_times(path: Path) -> None:
    moments = [
        START.replace(tzinfo=UTC),
        None,
        datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2024, 1, 1, tzinfo=UTC),
    ]
    write(path, rows(0, 4, moment=pa.array(moments, pa.timestamp("us", "UTC"))), partition_by=["moment"])


@recipe
def by_numbers(path: Path) -> None:
    numbers = pa.array([0.5, math.nan, -1e5, None, 12345678901234567.0, 1e-7], pa.float64())
    write(
        path,
        rows(0, 6, d=numbers, b=pa.array([b"a", b"\x00\xff", b"", None, b"z", b"%"], pa.binary())),
        partition_by=["d"],
    )


@recipe
def without_statistics(path: Path) -> None:
    write(path, rows(), configuration={"delta.dataSkippingNumIndexedCols": "0"})
    write(path, rows(20))


@recipe
def of_some_statistics(path: Path) -> None:
    write(path, rows(), configuration={"delta.dataSkippingNumIndexedCols": "1"})
    write(path, rows(20))


@recipe
def of_named_statistics(path: Path) -> None:
    write(path, rows(), configuration={"delta.dataSkippingStatsColumns": "amount"}, **by_rust())
    write(path, rows(20), **by_rust())


@recipe
def nested(path: Path) -> None:
    point = pa.struct([("x", pa.int32()), ("deep", pa.struct([("y", pa.string()), ("z", pa.float64())]))])
    points = [{"x": number, "deep": {"y": f"y{number}", "z": None}} if number % 3 else None for number in range(20)]
    lists = pa.array([[number, None] if number % 2 else [] for number in range(20)], pa.list_(pa.int64()))
    pairs = pa.array(
        [[("k", number)] if number % 2 else None for number in range(20)], pa.map_(pa.string(), pa.int64())
    )
    of_structs = pa.array([[{"a": number}] for number in range(20)], pa.list_(pa.struct([("a", pa.int64())])))
    write(path, rows(point=pa.array(points, point), list=lists, pairs=pairs, structs=of_structs))


@recipe
def times(path: Path) -> None:
    moments = [START + timedelta(days=number, microseconds=number) for number in range(18)] + [
        datetime(1850, 1, 1, 0, 7, 33),
        None,
    ]
    zoned = [None if moment is None else moment.replace(tzinfo=UTC) for moment in moments]
    days = [None if moment is None else moment.date() for moment in moments]
    write(path, rows(moment=pa.array(zoned, pa.timestamp("us", "UTC")), day=pa.array(days, pa.date32())))


@recipe
def local_times(path: Path) -> None:
    moments = [START + timedelta(days=number) for number in range(19)] + [None]
    write(path, rows(local=pa.array(moments, pa.timestamp("us"))))


@recipe
def decimals(path: Path) -> None:
    small = [Decimal(number) / 4 for number in range(19)] + [None]
    large = [Decimal("12345678901234567890.12345678") + number for number in range(19)] + [None]
    whole = [Decimal(10) ** 17 + number for number in range(20)]
    write(
        path,
        rows(
            small=pa.array(small, pa.decimal128(6, 2)),
            large=pa.array(large, pa.decimal128(38, 8)),
            whole=pa.array(whole, pa.decimal128(20, 0)),
        ),
    )


@recipe
def wild_numbers(path: Path) -> None:
    for start, wild in ((0, [math.nan]), (4, [math.inf]), (8, [-math.inf]), (12, [-0.0]), (16, [0.7])):
        numbers = [1.0, 2.0, None, *wild]
        write(path, rows(start, 4, d=pa.array(numbers, pa.float64()), f=pa.array(numbers, pa.float32())))
    nothing = [math.nan] * 4
    write(path, rows(20, 4, d=pa.array(nothing, pa.float64()), f=pa.array(nothing, pa.float32())))


@recipe
def small_kinds(path: Path) -> None:
    write(
        path,
        rows(
            tiny=pa.array([-128, 127] * 10, pa.int8()), small=pa.array([-32768, 32767] * 10, pa.int16()), n=pa.array(range(20), pa.int32()),
            ok=pa.array([True, None] * 10), data=pa.array([b"\x00\xff", None] * 10), f=pa.array([0.1] * 20, pa.float32()),
        ),
    )  # fmt: skip


@recipe
def long_texts(path: Path) -> None:
    texts = ["a" * 40, "\U0001f600" * 40, "z" * 31 + "\uffff" * 9, "", "\U0010ffff" * 40]
    for start, text in enumerate(texts):
        write(path, rows(start * 4, 4, text=pa.array([text, text + "x", None, "m"])))


@recipe
def odd_names(path: Path) -> None:
    odd = {"select": [1] * 4, "Größe": ["x"] * 4, "a-b": [True] * 4, "it's": [0.5] * 4, "CamelCase": ["c"] * 4}
    write(path, rows(0, 4, **{name: pa.array(values) for name, values in odd.items()}))


@recipe
def large_kinds(path: Path) -> None:
    """Arrow's other ways of texts and lists: dictionaries, large texts, views."""
    name = pa.array(["a", None, "b", "a"]).dictionary_encode()
    write(
        path,
        rows(
            0,
            4,
            word=name,
            large=pa.array(["l"] * 4, pa.large_string()),
            several=pa.array([[1]] * 4, pa.large_list(pa.int64())),
        ),
    )
