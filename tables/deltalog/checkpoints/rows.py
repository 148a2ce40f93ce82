"""The `add` column of a checkpoint as rows of live files: missing members become nulls, odd values problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tables.deltalog.checkpoints.parsed_statistics import texts
from tables.deltalog.read.parsing import num_records_of
from tables.deltalog.read.paths import is_outside
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.read.usual_adds import NUM_RECORDS, is_whole
from tables.deltalog.state.livefiles import RAW, VALUES, VECTOR, is_without

_MEMBERS = {
    "size": "size",
    "modification_time": "modificationTime",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
}
_VECTOR_MEMBERS = ("storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
_TOGETHER = 1 << 20  # bytes of adds that are turned into rows at once
_ODD_PATH = r"^/|:|%|\.\."
_MARKS = (b":", b"%", b"..")
_NUM_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<n>0|[1-9][0-9]{0,17})\s*[,}]'


@dataclass(frozen=True, slots=True)
class Adds:
    """A piece of a file's `add` column, without nulls."""

    file: str
    rows: pa.StructArray


def grouped(pieces: Iterable[Adds]) -> Iterator[list[Adds]]:
    """Small pieces of the same kind together, in order. One that holds dictionaries may come to more than it takes, and stays alone."""
    group: list[Adds] = []
    size = 0
    for piece in pieces:
        more = _TOGETHER if "dictionary<" in str(piece.rows.type) else piece.rows.nbytes
        if group and (size + more > _TOGETHER or piece.rows.type != group[0].rows.type):
            yield group
            group, size = [], 0
        group.append(piece)
        size += more
        if size >= _TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


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
    stats, counts = _statistics(adds, file, problems)
    columns = {
        "path": path,
        "stats": stats,
        "num_records": counts,
        "deletion_vector": _vectors(adds),
        VALUES: _member(adds, "partitionValues", RAW.field(VALUES).type),
        **{name: _whole(adds, member, file, problems) for name, member in _MEMBERS.items()},
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in RAW.names], schema=RAW)


def _member(rows: pa.StructArray, name: str, kind: pa.DataType) -> pa.Array:
    if rows.type.get_field_index(name) < 0:
        return pa.nulls(len(rows), kind)
    values = rows.field(name)
    if values.type != kind:
        values = pc.cast(values, kind)
    if kind != pa.int64():
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
    if not _has_negative(values):
        return values
    problems.add(file, f"add.{name} is not a whole number of 0 or more")
    return pc.if_else(pc.less(values, 0), pa.scalar(None, pa.int64()), values)


def _has_negative(values: pa.Array) -> bool:
    lowest = pc.min(values).as_py()
    return lowest is not None and lowest < 0


def _check_paths(paths: pa.Array, file: str, problems: Problems) -> None:
    if is_without(paths, _MARKS):
        return
    odd = pc.match_substring_regex(paths, _ODD_PATH)
    if pc.any(odd).as_py() and any(is_outside(path.as_py()) for path in paths.filter(odd)):
        problems.add(file, "add names a file outside the table's directory", ProblemCode.OUTSIDE)


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


def _statistics(rows: pa.StructArray, file: str, problems: Problems) -> tuple[pa.Array, pa.Array]:
    """Each file's statistics as text, and its number of rows."""
    if rows.type.get_field_index("stats") >= 0 or rows.type.get_field_index("stats_parsed") < 0:
        stats = _member_if_sound(rows, "stats", pa.string(), file, problems)
        return stats, _num_records(stats, file, problems)
    parsed = rows.field("stats_parsed")
    lost: list[pa.DataType] = []
    stats = texts(parsed, lost)
    if lost:
        problems.add(file, "add.stats_parsed holds values that can't be read, so these are unknown")
    counts = _parsed_counts(parsed)
    return stats, _num_records(stats, file, problems) if counts is None else counts


def _parsed_counts(parsed: pa.Array) -> pa.Array | None:
    """`numRecords` as it stands, None where that is no number of rows."""
    if not pa.types.is_struct(parsed.type) or parsed.type.get_field_index("numRecords") < 0:
        return None
    counts = pc.struct_field(parsed, "numRecords")
    return counts if counts.type == pa.int64() and not _has_negative(counts) else None


def _num_records(stats: pa.Array, file: str, problems: Problems) -> pa.Array:
    digits = pc.struct_field(pc.extract_regex(stats, _NUM_RECORDS), "n")
    counts = pc.cast(digits, pa.int64())
    missed = pc.and_(pc.is_null(counts), pc.is_valid(stats))
    if not _are_whole(stats, len(stats) - counts.null_count):
        missed = pc.or_(missed, pa.array([text is not None and not is_whole(text) for text in stats.to_pylist()]))
    if not pc.any(missed).as_py():
        return counts
    rest = [num_records_of(text, file, problems) for text in stats.filter(missed).to_pylist()]
    return pc.replace_with_mask(counts, missed, pa.array(rest, pa.int64()))


def _are_whole(stats: pa.Array, counted: int) -> bool:
    """Whether each of the statistics looks whole (`is_whole`), told by all of their bytes at once; `counted` of them begin with a number.

    False may be wrong, and True where one lacks the bracket that another one has too many.
    """
    content = stats.buffers()[2]
    text = b"" if content is None else content.to_pybytes()
    once = text.count(NUM_RECORDS.encode()) == counted
    return once and text.count(b"{") == text.count(b"}") and bool(pc.all(pc.ends_with(stats, "}"), min_count=0).as_py())
