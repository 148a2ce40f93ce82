"""Tables as the deltalake writes them that is on this interpreter's path; each recipe is a table's name and how it comes to be.

Runs in a process of its own (`write`), with a deltalake that may be years older than that of the tests: what a version calls differently
is asked of its signatures. A recipe that raises needs what that version lacks.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.jobs.foreign.write import Recipe

RECIPES: dict[str, Recipe] = {}
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


class Lacks(Exception):
    """This version of the writer has no such thing."""


def recipe(made: Recipe) -> Recipe:
    RECIPES[made.__name__.rstrip("_")] = made
    return made


def rows(start: int = 0, count: int = 20, **more: Sequence[Any]) -> pa.Table:
    """Ids in a row, a text, a number with NULLs."""
    ids = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "name": pa.array([f"name {number}" for number in ids]),
            "amount": pa.array([None if number % 5 == 0 else number / 2 for number in ids], pa.float64()),
            **more,
        }
    )


def write(path: Path, data: pa.Table, mode: str = "append", **options: Any) -> None:
    import deltalake

    known = inspect.signature(deltalake.write_deltalake).parameters
    if options.get("schema_mode") == "overwrite" and "schema_mode" not in known:
        options = {name: value for name, value in options.items() if name != "schema_mode"} | {"overwrite_schema": True}
    lacking = sorted(set(options) - set(known))
    if lacking:
        raise Lacks(f"write_deltalake has no {', '.join(lacking)}")
    if options.get("schema_mode") == "merge" and "engine" in known:
        options["engine"] = "rust"
    deltalake.write_deltalake(str(path), data, mode=mode, **options)


def table(path: Path) -> Any:
    import deltalake

    return deltalake.DeltaTable(str(path))


def asked(of: Any, name: str) -> Any:
    """A method of this version."""
    found = getattr(of, name, None)
    if found is None:
        raise Lacks(f"it has no {name}")
    return found


def noted(call: Callable[..., Any], note: Mapping[str, str]) -> dict[str, Any]:
    """How this version takes a commit's own fields."""
    import deltalake

    properties = getattr(deltalake, "CommitProperties", None)
    if properties is not None and "commit_properties" in inspect.signature(call).parameters:
        return {"commit_properties": properties(custom_metadata=dict(note))}
    return {"custom_metadata": dict(note)}


@recipe
def plain(path: Path) -> None:
    write(path, rows())


@recipe
def appended(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start))


@recipe
def described(path: Path) -> None:
    write(path, rows(), name="sold", description="all that's sold", configuration={"delta.appendOnly": "false"})


@recipe
def marked(path: Path) -> None:
    import deltalake

    write(path, rows(), **noted(deltalake.write_deltalake, {"step": "load-7", "userName": "ana@example.org"}))
    write(path, rows(20))


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
def overwritten(path: Path) -> None:
    write(path, rows())
    write(path, rows(20, 7), mode="overwrite")


@recipe
def overwritten_where(path: Path) -> None:
    parts = pa.array(["a", "b"] * 10)
    write(path, rows(p=parts), partition_by=["p"])
    data = rows(50, 4, p=pa.array(["a"] * 4))
    write(path, data, mode="overwrite", predicate="p = 'a'", **_by_rust(), partition_by=["p"])


def _by_rust() -> dict[str, Any]:
    import deltalake

    return {"engine": "rust"} if "engine" in inspect.signature(deltalake.write_deltalake).parameters else {}


@recipe
def deleted(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start, p=pa.array(["x", "y"] * 10)), partition_by=["p"])
    table(path).delete("id = 3")
    table(path).delete("p = 'y'")
    table(path).delete("id >= 20")


@recipe
def emptied(path: Path) -> None:
    write(path, rows())
    table(path).delete()


@recipe
def updated(path: Path) -> None:
    write(path, rows())
    write(path, rows(20))
    table(path).update(updates={"amount": "0.5"}, predicate="id % 4 = 1")


@recipe
def merged(path: Path) -> None:
    write(path, rows())
    write(path, rows(20))
    source = rows(15, 10)
    merging = table(path).merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()
    merging = table(path).merge(rows(30, 20), "t.id = s.id", source_alias="s", target_alias="t")
    merging.when_matched_delete().execute()


@recipe
def evolved(path: Path) -> None:
    write(path, rows())
    write(path, rows(20, more=pa.array(["m"] * 20)), schema_mode="merge")


@recipe
def replaced(path: Path) -> None:
    write(path, rows())
    write(path, pa.table({"other": pa.array([1, 2, 3], pa.int32())}), mode="overwrite", schema_mode="overwrite")


@recipe
def columns_added(path: Path) -> None:
    write(path, rows())
    import deltalake

    alter = table(path).alter
    asked(alter, "add_columns")([deltalake.Field("later", "string"), deltalake.Field("n", "integer")])
    write(path, rows(20, later=pa.array(["l"] * 20), n=pa.array(range(20), pa.int32())))


@recipe
def checkpointed(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start, p=pa.array(["x", None] * 10)), partition_by=["p"])
    table(path).delete("id = 3")
    table(path).create_checkpoint()
    write(path, rows(40, p=pa.array(["z"] * 20)), partition_by=["p"])


@recipe
def cleaned(path: Path) -> None:
    """Its first commits are gone: the checkpoint has all that they said."""
    for start in (0, 20, 40):
        write(path, rows(start))
    table(path).create_checkpoint()
    for version in range(2):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    write(path, rows(60))


@recipe
def logs_compacted(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start))
    asked(table(path), "compact_logs")(0, 2)
    write(path, rows(60))


@recipe
def vacuumed(path: Path) -> None:
    write(path, rows())
    write(path, rows(20), mode="overwrite")
    table(path).vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)


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
    write(path, rows(), configuration={"delta.dataSkippingStatsColumns": "amount"}, **_by_rust())
    write(path, rows(20), **_by_rust())


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
def feed(path: Path) -> None:
    write(path, rows(), configuration={"delta.enableChangeDataFeed": "true"})
    write(path, rows(20))
    table(path).delete("id = 3")
    table(path).update(updates={"amount": "0.5"}, predicate="id % 4 = 1")
    if "large_dtypes" not in inspect.signature(table(path).merge).parameters or hasattr(table(path), "load_cdf"):
        merging = table(path).merge(rows(15, 10), "t.id = s.id", source_alias="s", target_alias="t")
        merging.when_matched_update_all().when_not_matched_insert_all().execute()


@recipe
def append_only(path: Path) -> None:
    write(path, rows(), configuration={"delta.appendOnly": "true"})
    write(path, rows(20))


@recipe
def constrained(path: Path) -> None:
    write(path, rows())
    table(path).alter.add_constraint({"small": "id < 1000"})
    write(path, rows(20), **_by_rust())


@recipe
def unconstrained(path: Path) -> None:
    write(path, rows())
    table(path).alter.add_constraint({"small": "id < 1000"})
    asked(table(path).alter, "drop_constraint")("small")


@recipe
def not_null(path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
    write(path, pa.table({"id": range(9), "name": ["n"] * 9}, schema))


@recipe
def null_allowed(path: Path) -> None:
    not_null(path)
    asked(table(path).alter, "drop_column_not_null")("id")


@recipe
def compacted(path: Path) -> None:
    for start in (0, 20, 40):
        write(path, rows(start, p=pa.array(["x", "y"] * 10)), partition_by=["p"])
    table(path).optimize.compact()
    write(path, rows(60, p=pa.array(["x"] * 20)), partition_by=["p"])


@recipe
def zordered(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    table(path).optimize.z_order(["id", "amount"])


@recipe
def repaired(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    sorted(path.glob("*.parquet"))[0].unlink()
    table(path).repair()


@recipe
def restored(path: Path) -> None:
    for start in (0, 20):
        write(path, rows(start))
    table(path).delete("id = 3")
    table(path).restore(1)


@recipe
def properties_set(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_table_properties")({"delta.logRetentionDuration": "interval 60 days"})
    write(path, rows(20))


@recipe
def feature_added(path: Path) -> None:
    import deltalake

    write(path, rows())
    add = asked(table(path).alter, "add_feature")
    add(deltalake.TableFeatures.AppendOnly, allow_protocol_versions_increase=True)


@recipe
def vectors_added(path: Path) -> None:
    """Deletion vectors are supported and switched on; deltalake writes none."""
    import deltalake

    write(path, rows())
    add = asked(table(path).alter, "add_feature")
    add(deltalake.TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    asked(table(path).alter, "set_table_properties")({"delta.enableDeletionVectors": "true"})


@recipe
def annotated(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_column_metadata")("name", {"comment": "what it's called"})


@recipe
def renamed(path: Path) -> None:
    write(path, rows())
    asked(table(path).alter, "set_table_name")("sold")
    asked(table(path).alter, "set_table_description")("all that's sold")


@recipe
def transacted(path: Path) -> None:
    import deltalake

    transaction = getattr(deltalake, "Transaction", None)
    if transaction is None:
        raise Lacks("it has no Transaction")
    for version in (1, 2):
        properties = deltalake.CommitProperties(app_transactions=[transaction("app", version)])
        write(path, rows(20 * version), commit_properties=properties)


@recipe
def converted(path: Path) -> None:
    import deltalake
    from pyarrow import dataset

    kinds = {"partitioning": dataset.partitioning(pa.schema([("p", pa.string())]), flavor="hive")}
    dataset.write_dataset(rows(p=pa.array(["x", "y"] * 10)), path, format="parquet", **kinds)
    schema = pa.schema([("p", pa.string())])
    by = schema if hasattr(deltalake.Schema, "from_pyarrow") else _as_schema(schema)  # it was pyarrow's, once
    deltalake.convert_to_deltalake(str(path), partition_by=by, partition_strategy="hive")


@recipe
def created_empty(path: Path) -> None:
    import deltalake

    deltalake.DeltaTable.create(str(path), schema=_as_schema(rows().schema), name="empty")


def _as_schema(schema: pa.Schema) -> Any:
    import deltalake

    known = getattr(deltalake.Schema, "from_pyarrow", None) or deltalake.Schema.from_arrow
    return known(schema)


@recipe
def often_checkpointed(path: Path) -> None:
    write(path, rows(0, 4), configuration={"delta.checkpointInterval": "2"})
    for start in range(4, 28, 4):
        write(path, rows(start, 4))


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
