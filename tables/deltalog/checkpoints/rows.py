"""The `add` column of a checkpoint as rows of live files: missing members become nulls, odd values problems."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.read.parsing import num_records_of
from tables.deltalog.read.paths import is_outside
from tables.deltalog.read.problems import Code, Problems
from tables.deltalog.rules.offsets import WHOLE_MINUTES_SINCE
from tables.deltalog.state.livefiles import RAW, VALUES, VECTOR

_MEMBERS = {
    "size": "size",
    "modification_time": "modificationTime",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
}
_VECTOR_MEMBERS = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
_ODD_PATH = r"^/|:|%|\.\."
_NUM_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<n>[0-9]{1,18})\s*[,}]'


def add_rows(adds: pa.StructArray, file: str, problems: Problems) -> pa.RecordBatch:
    """RAW rows of a struct array without nulls. Rows without a path are left out and said.

    Raises TypeError, or what Arrow raises, when what tells files apart (path, deletion vector, partition values) is of another kind
    than the protocol's or is not UTF-8; any other such member is unknown, and said.
    """
    path = _member(adds, "path", pa.string())
    if path.null_count:
        problems.add(file, "add without a path")
        present = pc.is_valid(path)
        adds, path = adds.filter(present), path.filter(present)
    _check_paths(path, file, problems)
    stats = _stats(adds, file, problems)
    columns = {
        "path": path,
        "stats": stats,
        "num_records": _num_records(adds, stats, file, problems),
        "deletion_vector": _vectors(adds),
        VALUES: _member(adds, "partitionValues", RAW.field(VALUES).type),
        **{name: _whole(adds, member, file, problems) for name, member in _MEMBERS.items()},
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in RAW.names], schema=RAW)


def _member(rows: pa.StructArray, name: str, kind: pa.DataType) -> pa.Array:
    if rows.type.get_field_index(name) < 0:
        return pa.nulls(len(rows), kind)
    values = pc.cast(rows.field(name), kind)
    values.validate(full=True)  # parquet's texts come as they are, and some are not UTF-8
    return values


def _member_if_sound(rows: pa.StructArray, name: str, kind: pa.DataType, file: str, problems: Problems) -> pa.Array:
    try:
        return _member(rows, name, kind)
    except (pa.ArrowException, NotImplementedError):
        problems.add(file, f"add.{name} is not {_KINDS[kind]}, so it is unknown")
        return pa.nulls(len(rows), kind)


_KINDS = {pa.string(): "text in UTF-8", pa.int64(): "a whole number"}


def _whole(rows: pa.StructArray, name: str, file: str, problems: Problems) -> pa.Array:
    values = _member_if_sound(rows, name, pa.int64(), file, problems)
    negative = pc.less(values, 0)
    if pc.any(negative).as_py():
        problems.add(file, f"add.{name} is not a whole number of 0 or more")
        values = pc.if_else(negative, pa.scalar(None, pa.int64()), values)
    return values


def _check_paths(paths: pa.Array, file: str, problems: Problems) -> None:
    odd = paths.filter(pc.match_substring_regex(paths, _ODD_PATH))
    if len(odd) and any(is_outside(path.as_py()) for path in odd):
        problems.add(file, "add names a file outside the table's directory", Code.OUTSIDE)


def _vectors(rows: pa.StructArray) -> pa.Array:
    index = rows.type.get_field_index("deletionVector")
    if index < 0:
        return pa.nulls(len(rows), VECTOR)
    vectors = rows.field(index)
    if vectors.null_count == len(vectors):
        return pa.nulls(len(rows), VECTOR)
    if not pa.types.is_struct(vectors.type):
        raise TypeError("deletion vectors are not objects")
    members = [_member(vectors, name, kind.type) for name, kind in zip(_VECTOR_MEMBERS, VECTOR, strict=True)]
    empty = pc.or_(pc.is_null(vectors), pc.is_null(members[0]))  # some writers leave a struct of nulls
    return pa.StructArray.from_arrays(members, fields=list(VECTOR), mask=empty)


def _stats(rows: pa.StructArray, file: str, problems: Problems) -> pa.Array:
    if rows.type.get_field_index("stats") >= 0 or rows.type.get_field_index("stats_parsed") < 0:
        return _member_if_sound(rows, "stats", pa.string(), file, problems)
    lost: list[pa.DataType] = []
    values = _held(rows.field("stats_parsed"), lost)
    if lost:
        problems.add(file, "add.stats_parsed holds values that can't be read, so these are unknown")
    return pa.array([_stats_text(value) for value in values], pa.string())


def _held(values: pa.Array, lost: list[pa.DataType]) -> list[Any]:
    """The values as Python has them. One that it can't hold is None, and takes no other with it; its type is added to `lost`."""
    try:
        return cast(list[Any], values.to_pylist())
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # a time beyond the year 9999, bad UTF-8
        if pa.types.is_struct(values.type):
            return _held_by_member(values, lost)
    if len(values) == 1:
        lost.append(values.type)
        return [None]
    middle = len(values) // 2
    return _held(values.slice(0, middle), lost) + _held(values.slice(middle), lost)


def _held_by_member(values: pa.StructArray, lost: list[pa.DataType]) -> list[Any]:
    names = [field.name for field in values.type]
    members = [_held(values.field(place), lost) for place in range(len(names))]
    rows = (dict(zip(names, row, strict=True)) for row in zip(*members, strict=True))
    return [row if valid else None for row, valid in zip(rows, values.is_valid().to_pylist(), strict=True)]


def _stats_text(value: Any) -> str | None:
    """Parsed statistics as the JSON text that Delta writes; members without a value are left out."""
    if value is None:
        return None
    return json.dumps(_without_nulls(value), default=_json_value, separators=(",", ":"), ensure_ascii=False)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # as Delta writes them
    return value


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        precise = value.microsecond % 1000  # a cut-off maximum would be too low
        text = value.isoformat(timespec="microseconds" if precise else "milliseconds")
        # Delta parsed it from a text whose offset may have lacked its seconds: only Z says that the time is exact.
        return text if value.tzinfo and value < WHOLE_MINUTES_SINCE else text.replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value)


def _num_records(rows: pa.StructArray, stats: pa.Array, file: str, problems: Problems) -> pa.Array:
    digits = pc.struct_field(pc.extract_regex(stats, _NUM_RECORDS), "n")
    counts = pc.cast(digits, pa.int64())
    missed = pc.and_(pc.is_null(counts), pc.is_valid(stats))
    if not pc.any(missed).as_py():
        return counts
    rest = [num_records_of(text, file, problems) for text in stats.filter(missed).to_pylist()]
    return pc.replace_with_mask(counts, missed, pa.array(rest, pa.int64()))
