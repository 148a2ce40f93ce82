"""The files of a source table that a stream's next round reads, by the table's log and the stream's place in it.

Source: delta-spark 4.4, `DeltaSource`. A query takes the live files of the table as it begins, and then what each later commit adds.
"""

from __future__ import annotations

import pyarrow as pa

from jobs.domain.errors import CommandRefused
from jobs.models import Stream
from jobs.targets.readers import next_version
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject, subject_of
from tables.deltalog.read.actions import AddFile
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
        files = subject.snapshot.files() if start is None else _added(subject, start)
    except (CommandRefused, StorageError, FileNotFoundError):  # the round meets it, and says it in Delta's words
        return None
    return None if files is None else FilesRead(subject.table.path, files, subject.table.pk)


def _added(subject: Subject, start: int) -> pa.Table | None:
    """The live files that commits from `start` on have added."""
    if subject.version - start >= MOST_COMMITS:
        return None
    storage, paths = open_log(subject.table.path).storage, set[str]()
    listing = read_listing(storage.entries(LOG, f"{start:020d}"))
    for version, entry in listing.commits.items():
        if start <= version <= subject.version:
            actions = typed_actions(storage, f"{LOG}/{entry.name}", entry.size, entry.name, Problems())
            paths |= {canonical(action.path) for action in actions if isinstance(action, AddFile)}
    if not paths:
        return None
    files = subject.snapshot.files()
    return files.filter(pa.array([canonical(path) in paths for path in files.column("path").to_pylist()]))
