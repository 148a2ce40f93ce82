"""Rows compared as multisets: order-free, NULL-safe, each as often as it is there, whatever their types.

Spark groups by no map and no variant, and groups texts by their collation. So a row is compared by values of the same meaning that Spark
can group by: a map's entries as a sorted list, a variant's type and JSON, a text by its bytes. NaN equals NaN and -0.0 equals 0.0, as in
Spark's comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from jobs.engine import cells
from jobs.engine.quoting import quoted

INSERT, DELETE, BEFORE, AFTER = "insert", "delete", "update_preimage", "update_postimage"
CHANGES = (DELETE, BEFORE, AFTER, INSERT)  # in the order of a row's lines
UPDATES = (BEFORE, AFTER)
BINARY = "UTF8_BINARY"


def signed(frame: DataFrame, fields: Sequence[StructField], sign: Column, updates: Column) -> DataFrame:
    """The rows by these fields as keys `k0`, `k1`…, with 1 for one that came and -1 for one that went, and whether an update did that."""
    keys = [comparable(F.col(quoted(f.name)), f.dataType).alias(f"k{place}") for place, f in enumerate(fields)]
    return frame.select(*keys, sign.alias("sign"), updates.alias("by_update"))


def counted(rows: DataFrame) -> DataFrame:
    """One row for each distinct one: how often it came or went after all, by each of CHANGES, and `times`, how often it was read."""
    keys = [name for name in rows.columns if name not in ("sign", "by_update")]
    plain, update = (
        F.sum(F.when(each, F.col("sign")).otherwise(0)) for each in (~F.col("by_update"), F.col("by_update"))
    )
    sums = rows.groupBy(*keys).agg(plain.alias("plain"), update.alias("update"), F.count(F.lit(1)).alias("times"))
    net, zero = F.col("plain") + F.col("update"), F.lit(0).cast("bigint")
    came, went = F.greatest(net, zero), F.greatest(-net, zero)
    after = F.least(F.greatest(F.col("update"), zero), came)
    before = F.least(F.greatest(-F.col("update"), zero), went)
    figures = {DELETE: went - before, BEFORE: before, AFTER: after, INSERT: came - after}
    return sums.select(*keys, *[figures[name].alias(name) for name in CHANGES], "times")


def changes_of(frame: DataFrame, fields: Sequence[StructField], change: Column) -> DataFrame:
    """Rows of a change feed as `signed` has them."""
    known = frame.where(change.isin(*CHANGES))
    return signed(known, fields, F.when(change.isin(DELETE, BEFORE), -1).otherwise(1), change.isin(*UPDATES))


def lines_of(
    rows: DataFrame, fields: Sequence[StructField], limit: int, characters: int
) -> tuple[dict[str, int], list[tuple[str | int | None, ...]]]:
    """The sums of `counted` rows, and the first `limit` lines: change, count, then the cells' texts. One query for both.

    The lines are in the order of the rows' values, so that two rows which differ in a later column alone stand beside each other. The
    sums are those of CHANGES, `lines` (of how many the first ones are returned) and `times`.
    """
    found = totals_and_lines(rows, fields, limit, characters).collect()[0]
    figures = {name: int(found[name]) for name in (*CHANGES, "times", "lines")}
    return figures, [(CHANGES[line[0]], *line[1:-1]) for line in found["listed"]]


def totals_and_lines(rows: DataFrame, fields: Sequence[StructField], limit: int, characters: int) -> DataFrame:
    """The query of `lines_of`: one row. Its two branches take the same of `rows`, so that Spark reads and groups them once."""
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in (*CHANGES, "times")]
    number = sum((F.when(F.col(name) > 0, 1).otherwise(0) for name in CHANGES), F.lit(0))
    totals = rows.agg(*sums, F.coalesce(F.sum(number), F.lit(0)).alias("lines"))
    kinds = F.array(
        *[F.struct(F.lit(place).alias("rank"), F.col(name).alias("count")) for place, name in enumerate(CHANGES)]
    )
    keys = [f"k{place}" for place in range(len(fields))]
    each = F.explode(F.filter(kinds, lambda kind: kind.getField("count") > 0)).alias("kind")
    # Nobody reads `times` of a line; without it, Spark would group these rows once more, by an aggregate of their own.
    first = rows.select(*keys, each, "times").orderBy(*keys, "kind.rank").limit(limit)
    texts = [
        cells.as_text(restored(F.col(key), f.dataType), f.dataType, characters).alias(key)
        for key, f in zip(keys, fields, strict=True)
    ]
    listed = first.select(F.struct("kind.rank", "kind.count", *texts, "times").alias("line")).agg(
        F.collect_list("line").alias("listed")
    )
    return totals.crossJoin(listed)


def comparable(value: Column, kind: DataType) -> Column:
    """A value that Spark can group and sort by, equal for equal values alone."""
    if not _needs(kind):
        return value
    if isinstance(kind, StringType):
        return value.cast(StringType())
    if isinstance(kind, StructType):
        parts = [comparable(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
        return F.when(value.isNotNull(), F.struct(*parts))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda element: comparable(element, kind.elementType))
    if isinstance(kind, MapType):
        return F.array_sort(F.transform(F.map_entries(value), lambda pair: _entry(pair, kind)))
    return F.when(value.isNotNull(), F.struct(F.schema_of_variant(value).alias("type"), F.to_json(value).alias("json")))


def _entry(pair: Column, kind: MapType) -> Column:
    key = comparable(pair.getField("key"), kind.keyType).alias("key")
    return F.struct(key, comparable(pair.getField("value"), kind.valueType).alias("value"))


def restored(value: Column, kind: DataType) -> Column:
    """The value that `comparable` made comparable, for its text."""
    if not _needs(kind) or isinstance(kind, StringType):
        return value
    if isinstance(kind, StructType):
        parts = [restored(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
        return F.when(value.isNotNull(), F.struct(*parts))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda element: restored(element, kind.elementType))
    if isinstance(kind, MapType):
        return F.map_from_entries(F.transform(value, lambda pair: _pair(pair, kind)))
    return F.parse_json(value.getField("json"))


def _pair(pair: Column, kind: MapType) -> Column:
    key = restored(pair.getField("key"), kind.keyType).alias("key")
    return F.struct(key, restored(pair.getField("value"), kind.valueType).alias("value"))


def _needs(kind: DataType) -> bool:
    """Whether Spark can't group by the type as it is, or would take different values for equal ones."""
    if isinstance(kind, StructType):
        return any(_needs(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _needs(kind.elementType)
    return isinstance(kind, MapType | VariantType) or (isinstance(kind, StringType) and kind.collation != BINARY)
