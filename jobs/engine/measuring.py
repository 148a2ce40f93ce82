"""Counts and hashes rows by reading them, independent of their order and files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from jobs.engine.cells import SIMPLE
from jobs.engine.quoting import quoted

# A row's hash has 64 bits. Summed separately, its halves fit a bigint for up to two billion rows of a file.
HALF = 32
LOW = (1 << HALF) - 1


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """Rows of a frame; `rows_hash`, `files` and `bytes` are as in `jobs.domain.measures.Matched`."""

    rows: int
    rows_hash: str | None
    files: Mapping[str, int]
    bytes: int


def measure(frame: DataFrame, *, hashed: bool = True) -> MeasuredRows:
    """Reads every row of a frame over one table, in one aggregation by file.

    Two frames with the same rows, each equally often, have the same hash, whatever files hold them. The hash is None without
    `hashed`, or if a column has no hash. Without a hash Spark reads only the files' own row counts.
    """
    row = row_hash(frame.schema) if hashed else None
    # Through this function, since the table may have a column named _metadata.
    file = frame.metadataColumn("_metadata")
    figures = [F.count(F.lit(1)).alias("rows"), F.max(file.getField("file_size")).alias("bytes")]
    sums = [] if row is None else _sums(row)
    parts = frame.groupBy(file.getField("file_path").alias("file")).agg(*figures, *sums).collect()
    return MeasuredRows(
        rows=sum(part["rows"] for part in parts),
        rows_hash=None if row is None else str(sum(_sum(part) for part in parts)),
        files={local(part["file"]): part["rows"] for part in parts},
        bytes=sum(part["bytes"] for part in parts),
    )


def difference(before: DataFrame, after: DataFrame) -> tuple[int, int] | None:
    """How many rows `after` has that `before` lacks, and vice versa, counting duplicates.

    It identifies rows by their hashes. None if the schemas differ or a column has no hash.
    """
    row = row_hash(after.schema) if before.schema == after.schema else None
    if row is None:
        return None
    counted = [_by_hash(frame, row, name) for frame, name in ((before, "n_before"), (after, "n_after"))]
    both = counted[0].join(counted[1], "row_hash", "full_outer")
    more = F.coalesce(F.col("n_after"), F.lit(0)) - F.coalesce(F.col("n_before"), F.lit(0))
    gained, lost = F.greatest(more, F.lit(0)), F.greatest(-more, F.lit(0))
    sums = both.agg(F.sum(gained).alias("gained"), F.sum(lost).alias("lost")).collect()[0]
    return int(sums["gained"] or 0), int(sums["lost"] or 0)


def _by_hash(frame: DataFrame, row: Column, name: str) -> DataFrame:
    return frame.select(row.alias("row_hash")).groupBy("row_hash").agg(F.count(F.lit(1)).alias(name))


def local(uri: str) -> str:
    """The decoded absolute path of a file's URI, with its scheme unless it is this machine's."""
    plain = unquote(uri)
    return "/" + plain.removeprefix("file:").lstrip("/") if plain.startswith("file:") else plain


def row_hash(schema: StructType) -> Column | None:
    """A 64-bit hash of a row over all of its columns, the same for equal rows; None if a column has none.

    NaN equals NaN and -0.0 equals 0.0, as in Spark's comparisons. The order of a map's entries doesn't matter.
    """
    if not all(_has_hash(field.dataType) for field in schema.fields):
        return None
    return F.xxhash64(*[part for field in schema.fields for part in _parts(F.col(quoted(field.name)), field.dataType)])


def _has_hash(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return all(_has_hash(field.dataType) for field in kind.fields)
    if isinstance(kind, ArrayType):
        return _has_hash(kind.elementType)
    if isinstance(kind, MapType):
        return _has_hash(kind.keyType) and _has_hash(kind.valueType)
    return isinstance(kind, SIMPLE) and not isinstance(kind, VariantType)


def _parts(value: Column, kind: DataType) -> list[Column]:
    """The parts of a value to hash, including whether it is NULL: Spark's hash skips NULL, so (1, NULL) would equal (NULL, 1)."""
    if isinstance(kind, StructType):
        fields = [part for field in kind.fields for part in _parts(value.getField(field.name), field.dataType)]
        return [value.isNull(), *fields]
    if isinstance(kind, ArrayType):
        elements = F.transform(value, lambda element: F.xxhash64(*_parts(element, kind.elementType)))
        return [value.isNull(), F.size(value), elements]
    if isinstance(kind, MapType):
        return [value.isNull(), F.size(value), _entries(value, kind)]
    return [value.isNull(), value]


def _entries(value: Column, kind: MapType) -> Column:
    """The hashes of a map's entries, sorted: Spark can't sort entries themselves if they contain another map."""

    def entry(pair: Column) -> Column:
        return F.xxhash64(*_parts(pair.getField("key"), kind.keyType), *_parts(pair.getField("value"), kind.valueType))

    return F.array_sort(F.transform(F.map_entries(value), entry))


def _sums(row: Column) -> list[Column]:
    return [F.sum(F.shiftright(row, HALF)).alias("high"), F.sum(row.bitwiseAND(F.lit(LOW))).alias("low")]


def _sum(part: Row) -> int:
    """The sum of the whole hashes, exact: it fits decimal(38,0)."""
    return (int(part["high"]) << HALF) + int(part["low"])
