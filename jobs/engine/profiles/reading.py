"""Columns of one version, told by reading its rows: NULLs, distinct values, the least, the largest, the mean, the most frequent ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    VarcharType,
    VariantType,
)

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.read_limits import IN_VERSION, MOST_COLUMNS, STATISTICS, refuse_excess
from jobs.engine import cells
from jobs.engine.cells import WHOLE
from jobs.engine.directory import Directory, kept
from jobs.engine.quoting import quoted
from jobs.engine.row_diff.by_files import listed, sums_of
from jobs.engine.row_diff.multisets import comparable
from jobs.engine.rows import columns_named, described, refuse_unreadable
from jobs.engine.table_v2 import refuse_unknown
from jobs.engine.versions import rows_of, table_at, version_of

QUESTION = frozenset(["path", "version", "columns"])
MOST_CHARACTERS = 200  # of a value that is told
FREQUENT = 5  # one more is asked for, since NULL may be among them
TRACKED = 10_000  # values of which the most frequent ones are told; beyond, the counts are estimates
NUMBERS = (*WHOLE, FloatType, DoubleType, DecimalType)
LONG = (StringType, CharType, VarcharType, BinaryType)  # whose texts may be too long to be told whole
NESTED = (StructType, ArrayType, MapType, VariantType)
UNORDERED = (*NESTED, BinaryType, BooleanType, NullType)  # of which a least value says nothing


def read_profile(session: SparkSession, question: Mapping[str, Any]) -> dict[str, Any]:
    """Answers a `profile` read: `{version, rows, columns, read: {files, bytes}, more_columns}`, the columns as `_told` has them.

    `question`: `path`; `version` (None: the newest); `columns`, names of top-level columns, at most MOST_COLUMNS (None: the first ones).
    Raises CommandRefused (`not_delta`, `outside_roots`, `no_such_column`, `unreadable_type`; `too_much_to_read` before any row is read);
    Delta's refusals pass through.
    """
    refuse_unknown(question, QUESTION)
    with kept(str(question["path"])) as directory:
        return _profile(session, question, directory)


def _profile(session: SparkSession, question: Mapping[str, Any], directory: Directory) -> dict[str, Any]:
    table = table_at(session, directory, question.get("version"))
    files, size, known = sums_of(listed(session, table))
    refuse_excess(IN_VERSION, files, size, known, STATISTICS)
    frame = rows_of(session, table)
    fields = _chosen(frame.schema.fields, question.get("columns"))
    refuse_unreadable(fields, "choose other columns")
    parts = [part for place, field in enumerate(fields) for part in _figures(place, field)]
    found = frame.agg(F.count(F.lit(1)).alias("rows"), *parts).collect()[0].asDict()
    return {
        "version": version_of(table),
        "rows": int(found["rows"]),
        "columns": [_told(found, place, field) for place, field in enumerate(fields)],
        "more_columns": len(frame.schema.fields) - len(fields) if question.get("columns") is None else 0,
        "read": {"files": files, "bytes": size},
    }


def _chosen(fields: Sequence[StructField], names: Sequence[str] | None) -> list[StructField]:
    if names is None:
        return list(fields[:MOST_COLUMNS])
    if len(names) > MOST_COLUMNS:
        raise CommandRefused(Refusal("bad_request", f"columns can be at most {MOST_COLUMNS}"))
    return columns_named(fields, names)


def _figures(place: int, field: StructField) -> list[Column]:
    """The aggregates of a column, each with the column's place in its name."""
    value, kind = F.col(quoted(field.name)), field.dataType
    figures = {"known": F.count(value), "distinct": F.approx_count_distinct(comparable(value, kind))}
    if not isinstance(kind, UNORDERED):
        figures |= {"min": _text(F.min(value), kind), "max": _text(F.max(value), kind)}
    if isinstance(kind, NUMBERS):
        figures["mean"] = _text(F.avg(value.cast("double")), DoubleType())
    if not isinstance(kind, (*NESTED, NullType)):
        figures["top"] = F.call_function("approx_top_k", _whole(value, kind), F.lit(FREQUENT + 1), F.lit(TRACKED))
    return [figure.alias(f"{name}{place}") for name, figure in figures.items()]


def _text(value: Column, kind: DataType) -> Column:
    return cells.as_text(value, kind, MOST_CHARACTERS)


def _whole(value: Column, kind: DataType) -> Column:
    """The text that is told; where that is cut, with a digest of the whole value behind it, since others may begin alike."""
    text = _text(value, kind)
    if not isinstance(kind, LONG):
        return text
    digest = F.sha2(value.cast(BinaryType()), 256)
    return F.when(F.length(text) > MOST_CHARACTERS, F.concat(text, digest)).otherwise(text)


def _told(found: Mapping[str, Any], place: int, field: StructField) -> dict[str, Any]:
    """`{name, type, nulls, distinct, min, max, mean, frequent: [{value, count}]}`. What a type has not is None; `distinct` is an estimate,
    and so is a count of `frequent` where `distinct` is above TRACKED. NULL is no value. A long text ends with `…`."""
    top = found.get(f"top{place}")
    return {
        **described(field),
        "nulls": int(found["rows"]) - int(found[f"known{place}"]),
        "distinct": int(found[f"distinct{place}"]),
        "min": _cut(found.get(f"min{place}")),
        "max": _cut(found.get(f"max{place}")),
        "mean": cells.parsed(found.get(f"mean{place}"), DoubleType(), MOST_CHARACTERS)[0],
        "frequent": None if top is None else [_frequent(each) for each in top if each[0] is not None][:FREQUENT],
    }


def _frequent(each: Any) -> dict[str, Any]:
    return {"value": _cut(each[0]), "count": int(each[1])}


def _cut(text: str | None) -> str | None:
    value: str | None = cells.parsed(text, BinaryType(), MOST_CHARACTERS)[0]
    return value
