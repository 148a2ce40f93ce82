"""The files of a source table that a stream's next round reads, by the table's log and the stream's place in it.

Source: delta-spark 4.4, `DeltaSource`. A query takes the live files of the table as it begins, and then what each later commit adds.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from jobs.domain.errors import CommandRefused
from jobs.models import Stream
from jobs.targets.readers import next_version
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject, subject_of
from tables.deltalog.read.actions import Action, AddFile, RemoveFile
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.parsing import typed_actions
from tables.deltalog.read.paths import canonical
from tables.deltalog.read.problems import Problems
from tables.deltalog.replay.log import open_log
from tables.deltalog.state.listing import read_listing
from tables.storage.store import StorageError

MOST_COMMITS = 200
"""Commits that are read for what they add; of a round that reads more, no file is looked at."""


def streamed_files(stream: Stream) -> FilesRead | None:
    """The files that the round reads and that are still live; None if that isn't known, or the source is no table that can be read."""
    start = next_version(stream)
    by_time = stream.definition["source"].get("starting_timestamp") is not None
    if stream.source_table_id is None or (start is None and (stream.query_id is not None or by_time)):
        return None
    try:
        subject = subject_of(stream.source_table_id)
        skips = bool(stream.definition["source"].get("skip_change_commits"))
        files = subject.snapshot.files() if start is None else _added(subject, start, skips)
    except (CommandRefused, StorageError, FileNotFoundError):  # the round meets it, and says it in Delta's words
        return None
    return None if files is None else FilesRead(subject.table.path, files, subject.table.pk)


def _added(subject: Subject, start: int, skips: bool) -> pa.Table | None:
    """The live files of new rows that commits from `start` on have added; with `skips` those commits apart that remove rows too."""
    if subject.version - start >= MOST_COMMITS:
        return None
    storage, paths = open_log(subject.table.path).storage, set[str]()
    listing = read_listing(storage.entries(LOG, f"{start:020d}"))
    for version, entry in listing.commits.items():
        if start <= version <= subject.version:
            paths |= _paths(typed_actions(storage, f"{LOG}/{entry.name}", entry.size, entry.name, Problems()), skips)
    if not paths:
        return None
    files = subject.snapshot.files()
    added = files.filter(pa.array([canonical(path) in paths for path in files.column("path").to_pylist()], pa.bool_()))
    return added if added.num_rows else None


def _paths(actions: Iterable[Action], skips: bool) -> set[str]:
    """The files of a commit that a query reads: none that says of itself that it changes no data."""
    changes = [each for each in actions if isinstance(each, AddFile | RemoveFile) and each.data_change is not False]
    if skips and any(isinstance(each, RemoveFile) for each in changes):
        return set()
    return {canonical(each.path) for each in changes if isinstance(each, AddFile)}
