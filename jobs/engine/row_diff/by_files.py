"""Rows of two versions by the files that only one of them has, each with its deletion vector: what both have holds no difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.read_limits import APART, CLOSER, MOST_FILES, refuse_excess
from jobs.engine.quoting import quoted
from jobs.engine.row_diff.columns import Pairing, Reading, Versions, paired
from jobs.engine.runs.rewriting import option, seq
from tables.deltalog.rules.schema import SchemaError, parse_schema

VECTORS = "deletionVectors"
NO_VECTOR = "{}"  # as JSON: each of its parts is NULL


@dataclass(frozen=True, slots=True)
class ExclusiveFiles:
    """Files that only one version has, by their paths in the log. `rows` is None where a file's statistics don't tell."""

    paths: Sequence[str]
    bytes: int
    rows: int | None
    vectors: int  # how many of them have a deletion vector


def versions_of(table: Any) -> Versions:
    """The columns of Delta's table object. Raises CommandRefused `unreadable`."""
    metadata = table.initialSnapshot().metadata()
    try:
        struct = parse_schema(metadata.schemaString())
    except SchemaError as error:
        raise CommandRefused(Refusal("unreadable", f"The table's schema can't be read: {error}.")) from error
    columns = metadata.partitionColumns()
    names = [struct.column(columns.apply(place)) for place in range(columns.size())]
    return Versions(struct, [column.physical_name for column in names if column is not None])


def files_apart(session: SparkSession, before: Any, after: Any) -> tuple[ExclusiveFiles, ExclusiveFiles]:
    """The files of the older version that the newer one lacks, and the other way round. Raises CommandRefused `too_much_to_read`."""
    old, new = listed(session, before), listed(session, after)
    gone, came = (files.join(others, ["path", "vector"], "left_anti") for files, others in ((old, new), (new, old)))
    apart = (_known(gone), _known(came))
    if any(len(each.paths) > MOST_FILES for each in apart):
        _refuse(sums_of(gone), sums_of(came))
    _refuse(*((len(each.paths), each.bytes, each.rows) for each in apart))
    return apart


def _refuse(*sides: tuple[int, int, int | None]) -> None:
    files, size = (sum(side[place] or 0 for side in sides) for place in (0, 1))
    rows = None if any(side[2] is None for side in sides) else sum(side[2] or 0 for side in sides)
    refuse_excess(APART, files, size, rows, CLOSER)


def listed(session: SparkSession, table: Any) -> DataFrame:
    """The version's files, each by its path and its deletion vector, which together identify it (Delta's protocol)."""
    vector = F.struct("deletionVector.storageType", "deletionVector.pathOrInlineDv", "deletionVector.offset")
    rows = F.get_json_object("stats", "$.numRecords").cast("bigint")
    files = DataFrame(table.initialSnapshot().allFiles().toDF(), session)
    return files.select("path", F.to_json(vector).alias("vector"), "size", rows.alias("rows"))


def _known(alone: DataFrame) -> ExclusiveFiles:
    """The files themselves, one more at most than a read takes: beyond, only their sums count."""
    rows = alone.limit(MOST_FILES + 1).collect()
    counts = [row["rows"] for row in rows]
    known = None if None in counts else sum(counts)
    vectors = sum(row["vector"] != NO_VECTOR for row in rows)
    return ExclusiveFiles([row["path"] for row in rows], sum(row["size"] or 0 for row in rows), known, vectors)


def sums_of(alone: DataFrame) -> tuple[int, int, int | None]:
    """Files, bytes and rows; rows are None where a file's statistics don't tell."""
    sums = [F.sum("size").alias("bytes"), F.sum("rows").alias("rows"), F.count("rows").alias("known")]
    found = alone.agg(F.count(F.lit(1)).alias("files"), *sums).collect()[0]
    rows = int(found["rows"] or 0) if found["known"] == found["files"] else None
    return int(found["files"]), int(found["bytes"] or 0), rows


def pairing(before: Any, after: Any, gone: ExclusiveFiles) -> Pairing:
    """How both versions are read together. Raises CommandRefused `no_common_columns`, `unreadable`."""
    # Read with a newer version that knows no deletion vectors any more, rows would be there again that they hide.
    by_newer = not gone.vectors or _reads_vectors(after)
    found = paired(versions_of(before), versions_of(after), by_newer=by_newer)
    if not found.pairs:
        text = "The two versions have no column in common, so every row of the older one is gone and every row of the newer one is new."
        raise CommandRefused(Refusal("no_common_columns", text))
    return found


def _reads_vectors(table: Any) -> bool:
    features = table.initialSnapshot().protocol().readerFeatures()
    return not features.isEmpty() and bool(features.get().contains(VECTORS))


def rows_apart(
    session: SparkSession, before: Any, after: Any, apart: tuple[ExclusiveFiles, ExclusiveFiles], columns: Pairing
) -> tuple[DataFrame, DataFrame]:
    """The rows of these files, of the older and of the newer version, with the newer one's names.

    Raises CommandRefused `schema_conflict`.
    """
    reader = after if columns.reading is Reading.NEWER else before
    old, new = _rows(session, reader, before, apart[0]), _rows(session, after, after, apart[1])
    gone = old.select(*[F.col(quoted(name)).alias(to) for name, to in columns.pairs])
    came = new.select(*[F.col(quoted(name)) for _, name in columns.pairs])
    if gone.dtypes != came.dtypes:
        text = "The two versions have columns of other types, which can't be compared."
        raise CommandRefused(Refusal("schema_conflict", text))
    return gone, came


def _rows(session: SparkSession, reader: Any, holder: Any, files: ExclusiveFiles) -> DataFrame:
    """The visible rows of files of the version `holder`, with the schema of `reader`'s (Delta 4.4.0, DeltaLog.createDataFrame)."""
    snapshot = reader.initialSnapshot()
    named = F.col("path").isin(list(files.paths))
    chosen = list(holder.initialSnapshot().allFiles().filter(named._jc).collectAsList())
    frame = snapshot.deltaLog().createDataFrame(snapshot, seq(session, chosen), False, option(session))
    return DataFrame(frame, session)
