"""What a checkpoint's parquet pages unfold to, from its footer and its pages' own headers, before anything is unfolded.

Arrow unfolds a page as a whole, and a page of some bytes can stand for gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from tables.deltalog.checkpoints.thrift import Malformed, Struct, Wanted, read_struct

LARGEST_PAGES = 128 << 20
"""Bytes of the largest pages of all columns together, which lie in memory at once; writers of Delta aim at 1 MiB a page."""

MOST_VALUES = 16_000_000
"""Values of a list's column in one row group: nothing says that they aren't all of one row."""

_FOOTER = 64 << 20
_HEADER = 256  # bytes that a page's header takes as a rule; its statistics may make it longer
_LARGEST_HEADER = 1 << 20

# The fields that are read, by their numbers in parquet.thrift (apache/parquet-format): FileMetaData → RowGroup → ColumnChunk →
# ColumnMetaData, and PageHeader with the number of values that its DataPageHeader (5) or DataPageHeaderV2 (8) gives.
_IN_FOOTER: Wanted = {4: {1: {3: dict.fromkeys((3, 5, 6, 7, 9, 11))}, 3: None}}
_IN_PAGE: Wanted = {2: None, 3: None, 5: {1: None}, 8: {1: None}}


class Chunk(NamedTuple):
    """One column of a row group: its path as parquet names it, and what its footer says. Sizes are bytes."""

    path: str
    values: int
    unfolded: int
    start: int
    size: int


class RowGroup(NamedTuple):
    rows: int
    chunks: tuple[Chunk, ...]


def read_groups(file: BinaryIO) -> list[RowGroup]:
    """The row groups of a parquet file. Raises ValueError for a footer that isn't one."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > min(size - 8, _FOOTER):
        raise Malformed("it has no footer")
    file.seek(size - 8 - length)
    footer, _ = read_struct(file.read(length), _IN_FOOTER)
    return [_group(group) for group in _structs(footer.get(4))]


def _group(group: Struct) -> RowGroup:
    return RowGroup(_count(group, 3), tuple([_chunk(column) for column in _structs(group.get(1))]))


def _chunk(column: Struct) -> Chunk:
    metadata = column.get(3)
    if not isinstance(metadata, dict):
        raise Malformed("a column has no metadata")
    data, dictionary = _count(metadata, 9), _count(metadata, 11)
    start = min(data, dictionary) if data and dictionary else data or dictionary
    return Chunk(_path(metadata.get(3)), _count(metadata, 5), _count(metadata, 6), start, _count(metadata, 7))


def _path(parts: Any) -> str:
    if not isinstance(parts, list) or not all(isinstance(part, bytes) for part in parts):
        raise Malformed("a part of it is of another kind")
    return b".".join(parts).decode("utf-8", "replace")


def _structs(values: Any) -> list[Struct]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Malformed("a part of it is of another kind")
    return values


def _count(struct: Struct, number: int) -> int:
    value = struct.get(number, 0)
    if type(value) is not int:
        raise Malformed("a number of it is of another kind")
    return value if value > 0 else 0


def check_group(group: RowGroup, is_wanted: Callable[[str], bool], file: BinaryIO) -> int:
    """How many bytes the wanted values come to, were each as long as all that its column unfolds to.

    Raises ValueError where the wanted columns unfold to more than is held at once, or a page reaches beyond its column: Arrow makes room
    for as many bytes as a page's header gives before it looks how many there are.
    """
    wanted = [chunk for chunk in group.chunks if is_wanted(chunk.path)]
    size = file.seek(0, 2)
    if any(chunk.start + chunk.size > size for chunk in wanted):
        raise Malformed("its columns reach beyond its end")
    most = max(MOST_VALUES, group.rows)
    at_once = in_all = 0
    for chunk in wanted:
        pages = _pages(chunk, file)
        if max(chunk.values, pages.values) > most:
            raise ValueError("its lists are too long to be read")
        at_once += pages.largest + pages.first  # the first is the dictionary, where there is one
        in_all += max(chunk.values, pages.values) * pages.unfolded
    if at_once > LARGEST_PAGES:
        raise ValueError("its pages unfold to too much to be read")
    return in_all


class _Pages(NamedTuple):
    """Bytes that a column's first page unfolds to, the largest, and all together; and how many values they say they have."""

    first: int
    largest: int
    unfolded: int
    values: int


def _pages(chunk: Chunk, file: BinaryIO) -> _Pages:
    """Raises ValueError for a page that reaches beyond its column."""
    first, largest, unfolded, values = -1, 0, 0, 0
    at, end = chunk.start, chunk.start + chunk.size
    while at < end:
        header, length = _header(file, at)
        size, packed = _count(header, 2), _count(header, 3)
        first = size if first < 0 else first
        largest = max(largest, size)
        unfolded += max(size, packed)  # what isn't packed is read as it is, whatever the header says
        values += _count(_struct(header, 5), 1) + _count(_struct(header, 8), 1)
        at += length + packed
    if at > end:
        raise Malformed("a page of it reaches beyond its column")
    return _Pages(max(first, 0), largest, unfolded, values)


def _struct(struct: Struct, number: int) -> Struct:
    value = struct.get(number, {})
    if not isinstance(value, dict):
        raise Malformed("a part of it is of another kind")
    return value


def _header(file: BinaryIO, at: int) -> tuple[Struct, int]:
    size = _HEADER
    while True:
        file.seek(at)
        data = file.read(size)
        try:
            return read_struct(data, _IN_PAGE)
        except Malformed:
            if len(data) < size or size >= _LARGEST_HEADER:
                raise
            size *= 16
