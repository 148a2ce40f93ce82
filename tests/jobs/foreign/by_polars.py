"""Tables as polars writes them: by deltalake, but with its own types of columns."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.jobs.foreign.write import Recipe

RECIPES: dict[str, Recipe] = {}
START = datetime(2020, 1, 1, 12, 30, 15, 123456)


def recipe(made: Recipe) -> Recipe:
    RECIPES[made.__name__] = made
    return made


def frame(start: int = 0, count: int = 20, **more: Any) -> Any:
    polars = importlib.import_module("polars")
    ids = range(start, start + count)
    given = {
        "id": list(ids),
        "name": [f"name {number}" for number in ids],
        "amount": [None if n % 5 == 0 else n / 2 for n in ids],
    }
    return polars.DataFrame(given | more)


def write(path: Path, data: Any, mode: str = "append", **options: Any) -> Any:
    return data.write_delta(str(path), mode=mode, **({"delta_write_options": options} if options else {}))


@recipe
def plain(path: Path) -> None:
    write(path, frame())


@recipe
def appended(path: Path) -> None:
    for start in (0, 20):
        write(path, frame(start))


@recipe
def overwritten(path: Path) -> None:
    write(path, frame())
    write(path, frame(20, 5), mode="overwrite")


@recipe
def replaced(path: Path) -> None:
    write(path, frame())
    write(path, frame(20, 5, more=[1] * 5), mode="overwrite", schema_mode="overwrite")


@recipe
def evolved(path: Path) -> None:
    write(path, frame())
    write(path, frame(20, 5, more=["m"] * 5), schema_mode="merge")


@recipe
def partitioned(path: Path) -> None:
    for start in (0, 20):
        write(path, frame(start, p=["a b", "50%", None, "x/y", "ü"] * 4), partition_by=["p"])


@recipe
def merged(path: Path) -> None:
    write(path, frame())
    options = {"predicate": "t.id = s.id", "source_alias": "s", "target_alias": "t"}
    merging = frame(15, 10).write_delta(str(path), mode="merge", delta_merge_options=options)
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


@recipe
def times(path: Path) -> None:
    polars = importlib.import_module("polars")
    moments = [START + timedelta(days=number) for number in range(19)] + [None]
    zoned = [None if moment is None else moment.replace(tzinfo=UTC) for moment in moments]
    data = frame(
        local=polars.Series(moments, dtype=polars.Datetime("ms")),
        moment=polars.Series(zoned, dtype=polars.Datetime("ns", "UTC")),
        day=[None if moment is None else moment.date() for moment in moments],
    )
    write(path, data)


@recipe
def kinds(path: Path) -> None:
    polars = importlib.import_module("polars")
    data = frame(
        tiny=polars.Series([1, None] * 10, dtype=polars.Int8),
        price=polars.Series([Decimal("1.10"), None] * 10, dtype=polars.Decimal(38, 2)),
        data=[b"\x00", None] * 10,
        ok=[True, None] * 10,
        point=[{"x": 1, "y": "y"}, None] * 10,
        several=[[1, None], []] * 10,
    )
    write(path, data)


@recipe
def unsigned(path: Path) -> None:
    polars = importlib.import_module("polars")
    write(
        path,
        frame(
            n=polars.Series([2**31 - 1, 5] * 10, dtype=polars.UInt32),
            byte=polars.Series([100, 5] * 10, dtype=polars.UInt8),
        ),
    )


@recipe
def empty(path: Path) -> None:
    write(path, frame().clear())
