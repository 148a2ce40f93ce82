"""Which live files storage says it doesn't hold: the ground on which files are taken out of a table.

"Not found" is proof only while the table's own log is found in the same look: below a root that isn't mounted, or in a bucket that is gone,
nothing is found either. Whatever else keeps storage from telling is an error, never a missing file.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tables.deltalog.read.actions import RemoveFile
from tables.deltalog.read.data_files import below
from tables.deltalog.read.paths import canonical
from tables.deltalog.read.problems import Problems, harms_state
from tables.deltalog.replay.log import open_log
from tables.deltalog.replay.needed_files import vector_path
from tables.storage.store import StorageError
from tables.storage.stores import files_at

AT_ONCE = 2_000  # files between two looks at the clock and at the log
NO_LOG = "{location} holds no log of a table now, so nothing proves that its files are missing"

Named = tuple[str, str | None]  # the log's paths of a data file and of its deletion vector's file, if it has one


class LookTooLong(Exception):
    """Storage hasn't answered for every file in the time that a look may take: `asked` of them, `of` how many."""

    def __init__(self, asked: int, of: int) -> None:
        super().__init__(f"asked for {asked:,} of {of:,} files")
        self.asked, self.of = asked, of


@dataclass(frozen=True, slots=True)
class Absent:
    """What a look at all live files found: `missing` are the log's paths of data files, sorted.

    `asked` data files lie below the table, `outside` ones don't and are never looked at. `without_vector` are data files that are there, or
    lie outside, while the file of their deletion vector isn't: nobody can read them, and their rows are still there.
    """

    asked: int
    outside: int
    missing: tuple[str, ...]
    without_vector: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The digest of the missing files."""
        return digest_of(self.missing)


def digest_of(paths: Iterable[str]) -> str:
    """One hash of a set of the log's paths, in whichever spelling Delta takes for the same."""
    names = sorted({canonical(path) for path in paths})
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def named_of(files: pa.Table) -> list[Named]:
    """The paths of live files (`livefiles`), with those of their deletion vectors' files."""
    vectors = (
        vector_path(each["storage"], each["path_or_inline"]) if each else None
        for each in files.column("deletion_vector").to_pylist()
    )
    return list(zip(files.column("path").to_pylist(), vectors, strict=True))


def look(
    location: str, files: Sequence[Named], seconds: float, tell: Callable[[int, int], None] = lambda asked, of: None
) -> Absent:
    """Asks storage for each of the files and vectors; `tell` hears how far it has come.

    Raises LookTooLong, and StorageError for everything but "it is there" and "it isn't there".
    """
    inside = {path: inner for path, _ in files if (inner := below(location, path)) is not None}
    vectors = {path: inner for _, path in files if path is not None and (inner := below(location, path)) is not None}
    gone = set(_absent(location, sorted({*inside.values(), *vectors.values()}), seconds, tell))
    missing = {path for path, inner in inside.items() if inner in gone}
    without_vector = {path for path, vector in files if path not in missing and vectors.get(vector or "") in gone}
    return Absent(len(inside), len(files) - len(inside), tuple(sorted(missing)), tuple(sorted(without_vector)))


def lacking(location: str, paths: Iterable[str], seconds: float) -> list[str]:
    """Those of the log's paths, all below the table, whose files storage doesn't hold. Raises as `look` does."""
    inside = {path: inner for path in paths if (inner := below(location, path)) is not None}
    gone = set(_absent(location, sorted(set(inside.values())), seconds, lambda asked, of: None))
    return [path for path, inner in inside.items() if inner in gone]


def _absent(location: str, paths: Sequence[str], seconds: float, tell: Callable[[int, int], None]) -> Iterator[str]:
    storage, until = files_at(location), time.monotonic() + seconds
    _require_log(location)
    for start in range(0, len(paths), AT_ONCE):
        if time.monotonic() > until:
            raise LookTooLong(start, len(paths))
        part = paths[start : start + AT_ONCE]
        found = [path for path, lacks in zip(part, storage.lacks(part), strict=True) if lacks]
        if found:  # what holds the table may have gone meanwhile
            _require_log(location)
        yield from found
        tell(start + len(part), len(paths))


def _require_log(location: str) -> None:
    if not open_log(location).exists():
        raise StorageError(NO_LOG.format(location=location))


@dataclass(frozen=True, slots=True)
class Removed:
    """The files that a commit took out: the log's paths in their order, bytes, and the rows that a reader saw; None is unknown."""

    paths: tuple[str, ...]
    bytes: int | None
    rows: int | None


def removed_by(location: str, version: int) -> Removed | None:
    """What a commit removed, by its own actions; None where they can't be read. Raises StorageError."""
    problems = Problems()
    removed = [action for action in open_log(location).actions(version, problems) if isinstance(action, RemoveFile)]
    if harms_state(problems.found()):
        return None
    return Removed(
        tuple(each.path for each in removed), _sum(each.size for each in removed), _sum(each.rows for each in removed)
    )


def _sum(values: Iterable[int | None]) -> int | None:
    total = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
