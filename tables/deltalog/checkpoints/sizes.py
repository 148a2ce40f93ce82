"""What a checkpoint's parquet pages unfold to, from its footer and its pages' own headers, before anything is unfolded.

Arrow unfolds a page as a whole, and a page of some bytes can stand for gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from tables.deltalog.checkpoints.thrift import Malformed, Struct, read_struct

LARGEST_PAGES = 128 << 20
"""Bytes of the largest pages of all columns together, which lie in memory at once; writers of Delta aim at 1 MiB a page."""

MOST_VALUES = 16_000_000
"""Values of a list's column in one row group: nothing says that they aren't all of one row."""

_FOOTER = 64 << 20
_HEADER = 256  # bytes that a page's header takes as a rule; its statistics may make it longer
_LARGEST_HEADER = 1 << 20


@dataclass(frozen=True, slots=True)
class Chunk:
    """One column of a row group: its path as parquet names it, and what its footer says. Sizes are bytes."""

    path: str
    codec: int
    values: int
    unfolded: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Group:
    rows: int
    chunks: tuple[Chunk, ...]


def read_groups(file: BinaryIO) -> list[Group]:
    """The row groups of a parquet file. Raises ValueError for a footer that isn't one."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > min(size - 8, _FOOTER):
        raise Malformed("it has no footer")
    file.seek(size - 8 - length)
    footer, _ = read_struct(file.read(length))
    return [_group(group) for group in _structs(footer.get(4))]


def _group(group: Struct) -> Group:
    return Group(_count(group, 3), tuple(_chunk(column) for column in _structs(group.get(1))))


def _chunk(column: Struct) -> Chunk:
    metadata = column.get(3)
    if not isinstance(metadata, dict):
        raise Malformed("a column has no metadata")
    starts = [place for place in (_count(metadata, 11), _count(metadata, 9)) if place > 0]
    parts = [part for part in metadata.get(3) or () if isinstance(part, bytes)]
    path = ".".join(part.decode("utf-8", "replace") for part in parts)
    return Chunk(
        path, _count(metadata, 4), _count(metadata, 5), _count(metadata, 6), min(starts, default=0), _count(metadata, 7)
    )


def _structs(values: Any) -> list[Struct]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Malformed("a part of it is of another kind")
    return values


def _count(struct: Struct, number: int) -> int:
    value = struct.get(number, 0)
    if type(value) is not int:
        raise Malformed("a number of it is of another kind")
    return max(0, value)


def check_group(group: Group, is_wanted: Callable[[str], bool], file: BinaryIO) -> None:
    """Raises ValueError where the wanted columns unfold to more than is held at once, or a page reaches beyond its column.

    Arrow makes room for as many bytes as a page's header gives before it looks how many there are.
    """
    wanted = [chunk for chunk in group.chunks if is_wanted(chunk.path)]
    if any(chunk.values > max(MOST_VALUES, group.rows) for chunk in wanted):
        raise ValueError("its lists are too long to be read")
    size = file.seek(0, 2)
    if any(chunk.start + chunk.size > size for chunk in wanted):
        raise Malformed("its columns reach beyond its end")
    if sum(_most_at_once(chunk, file) for chunk in wanted) > LARGEST_PAGES:
        raise ValueError("its pages unfold to too much to be read")


def _most_at_once(chunk: Chunk, file: BinaryIO) -> int:
    """Bytes of the largest page and the dictionary."""
    sizes = _page_sizes(chunk, file)
    return max(sizes, default=0) + (sizes[0] if sizes else 0)


def _page_sizes(chunk: Chunk, file: BinaryIO) -> Sequence[int]:
    """Bytes that each page unfolds to. Raises ValueError for a page that reaches beyond its column."""
    sizes: list[int] = []
    at, end = chunk.start, chunk.start + chunk.size
    while at < end:
        header, length = _header(file, at)
        sizes.append(_count(header, 2))
        at += length + _count(header, 3)
    if at > end:
        raise Malformed("a page of it reaches beyond its column")
    return sizes


def _header(file: BinaryIO, at: int) -> tuple[Struct, int]:
    size = _HEADER
    while True:
        file.seek(at)
        data = file.read(size)
        try:
            return read_struct(data)
        except Malformed:
            if len(data) < size or size >= _LARGEST_HEADER:
                raise
            size *= 16
