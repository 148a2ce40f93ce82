"""Whether storage holds the files that a job reads or writes again as the log says, asked before Spark opens them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from console.base.text.counted import counted
from jobs.domain.errors import CommandRefused, Refusal
from tables.deltalog.read.data_files import Unlike, unlike
from tables.storage.store import StorageError
from tables.storage.stores import files_at, is_remote

# A disk answers for a hundred thousand files in a second, an object store for a thousand.
MOST = 200_000
MOST_REMOTE = 20_000
NAMED = 3
SHORT = "Spark reads a file only as far as the log’s size: rows behind it would be left out, and lost by writing the rest again."
NOT_READ = "Spark can’t read what isn’t there."
SIZE_REMEDY = (
    "Find out who replaced the file, or which writer noted a wrong size. Put the file back, or have that writer write its rows again,"
    " then request this again."
)
GONE_REMEDY = "Put the file back. If it is gone for good, restore a version that doesn’t need it, or take it out of the table (repair)."


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Live files of the table at `location`: a table of Arrow as `livefiles` describes it. `table` is its id, if it isn't the job's."""

    location: str
    files: pa.Table
    table: uuid.UUID | None = None


def refuse_unlike(read: FilesRead, tell: Callable[[int, Sequence[Unlike]], None] = lambda asked, found: None) -> int:
    """Looks at each file in storage, at most MOST of them, evenly spread. Returns how many; `tell` hears of those that it refuses for.

    Raises CommandRefused: `file_sizes_differ` where a size isn't the log's, `files_missing` where no regular file is, `unreadable` if
    storage doesn't answer.
    """
    places = spread(read.files.num_rows, most_at(read.location))
    chosen = read.files if len(places) == read.files.num_rows else read.files.take(list(places))
    pairs = zip(chosen.column("path").to_pylist(), chosen.column("size").to_pylist(), strict=True)
    try:
        found = list(unlike(files_at(read.location), read.location, pairs))
    except StorageError as error:
        raise CommandRefused(Refusal("unreadable", f"The table’s files can’t be looked at: {error}.")) from None
    if found:
        tell(chosen.num_rows, found)
        raise CommandRefused(*_refusals(read.location, found))
    return int(chosen.num_rows)


def most_at(location: str) -> int:
    """How many files are looked at, at most."""
    return MOST_REMOTE if is_remote(location) else MOST


def spread(count: int, most: int) -> range:
    """The places of `most` among `count` files at most, evenly spread."""
    return range(0, count, max(1, -(-count // most)))


def _refusals(location: str, found: Sequence[Unlike]) -> Iterator[Refusal]:
    sizes = [each for each in found if each.stored is not None]
    gone = [each for each in found if each.stored is None]
    for code, each, say, why, remedy in (
        ("file_sizes_differ", sizes, _size, SHORT, SIZE_REMEDY),
        ("files_missing", gone, _missing, NOT_READ, GONE_REMEDY),
    ):
        if each:
            more = f" ({counted(len(each) - NAMED, 'more file')} likewise.)" if len(each) > NAMED else ""
            text = f"{' '.join(map(say, islice(each, NAMED)))}{more} {why}"
            yield Refusal(code, text, place=f"{location.rstrip('/')}/{each[0].path}", remedy=remedy)


def _size(each: Unlike) -> str:
    return f"{each.path} has {counted(each.stored or 0, 'byte')}, and the log says {each.logged:,}."


def _missing(each: Unlike) -> str:
    return f"There is no regular file {each.path}, which the log names."
