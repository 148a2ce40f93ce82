"""A table's data files as storage has them, beside what the log says of them.

Spark reads a data file as far as the log's size and no further: of a longer one it may leave rows out without an error, and whoever
writes the rest again loses them for good.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from tables.deltalog.read.paths import placed
from tables.storage.store import Storage
from tables.storage.stores import with_canonical_scheme


@dataclass(frozen=True, slots=True)
class Unlike:
    """A file that isn't what the log says: `path` decoded, below the table; sizes in bytes, `stored` None if it is no regular file.

    `vector`: it isn't a data file but the file of deletion vectors.
    """

    path: str
    logged: int
    stored: int | None
    vector: bool = False


def unlike(storage: Storage, location: str, files: Iterable[tuple[str, int | None]]) -> Iterator[Unlike]:
    """The files that storage doesn't have as the log says, sorted by path; nothing is opened.

    `files` are the log's paths and sizes (None: the log says none, so only the file's being there is looked at). Those outside the
    table's directory are passed over: they are never touched. Raises StorageError for storage that doesn't answer, and for links.
    """
    named = ((below(location, text), size) for text, size in files)
    inside = sorted(((path, size) for path, size in named if path is not None), key=itemgetter(0))
    entries = storage.each(path for path, _ in inside)
    for (path, logged), entry in zip(inside, entries, strict=True):
        stored = None if entry is None else entry.size
        if stored is None or (logged is not None and stored != logged):
            yield Unlike(path, logged or 0, stored)


def below(location: str, path: str) -> str | None:
    """A log's path decoded and relative to the table at `location`; None for one that leads elsewhere."""
    place, top = with_canonical_scheme(placed(path, location)), f"{location.rstrip('/')}/"
    inner = place.removeprefix(top)
    return inner if place.startswith(top) and ".." not in inner.split("/") and "\x00" not in inner else None
