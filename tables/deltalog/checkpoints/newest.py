"""The newest checkpoint, as Spark sees it: which one it reads, and whether it can.

Source: Delta 4.4.0, `SnapshotManagement.scala`. Delta begins with the newest complete checkpoint and passes over files of no bytes
(`listFromFileSystemInternal`). It tries an older one only if a damaged one stops the snapshot's making
(`createSnapshotFromGivenOrEquivalentLogSegment`), which it doesn't where a `.crc` gives protocol and metadata: the first command that
needs the files fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from tables.deltalog.checkpoints.reading import CheckpointError, CheckpointReader
from tables.deltalog.read.actions import Metadata, Protocol
from tables.deltalog.read.filenames import LOG, commit_version
from tables.deltalog.read.parsing import typed_actions
from tables.deltalog.read.problems import LogProblem, ProblemCode, Problems
from tables.deltalog.state.listing import Checkpoint, Listing
from tables.deltalog.state.state import TableState
from tables.storage.store import Entry, Storage

MOST_PARTS = 16
"""Files of a checkpoint whose footers are read; one of more parts isn't judged, and of its sidecars the first are."""

MOST_BYTES = 4 << 20
"""Bytes of a checkpoint whose list of files is read through; of a larger one the footers are."""

MOST_JSON = 4 << 20
"""Bytes of a checkpoint's JSON file that is read; a larger one isn't judged."""

MOST_COMMITS = 100
"""Commits after a checkpoint that are read for what it lacks."""

LACKS = "the checkpoint lacks protocol, metadata or schema"


def newest_used(listing: Listing, version: int) -> Checkpoint | None:
    """The checkpoint from which Spark reads a version."""
    points = listing.checkpoints_until(version)
    return next((point for point in points if all(file.size for file in point.files)), None)


def as_spark_begins(problems: Iterable[LogProblem], listing: Listing, version: int) -> Iterator[LogProblem]:
    """Problems of commits, where those that Spark doesn't read for a version stop it no more: it begins with the newest checkpoint."""
    for problem in problems:
        passed = problem.code is ProblemCode.STOPS_SPARK and not is_read(problem, listing, version)
        yield replace(problem, code=ProblemCode.ODD) if passed else problem


def is_read(problem: LogProblem, listing: Listing, version: int) -> bool:
    """Whether a problem is of a commit that Spark reads for a version."""
    commit, newest = commit_version(problem.file), newest_used(listing, version)
    return commit is not None and (newest is None or commit > newest.version)


def check_newest(storage: Storage, listing: Listing, version: int, problems: Problems) -> Mapping[str, Entry | None]:
    """Says if Spark can't read a version's checkpoint: by its footers, protocol and metadata, and the list of files if that is short.

    Returns the sidecars that were looked at, by their paths below the table, as they lie there.
    """
    newest = newest_used(listing, version)
    if newest is None or len(newest.files) > MOST_PARTS or _is_long_json(newest):
        return {}
    state, read = TableState(), Problems()
    reader, sidecars = CheckpointReader(storage, newest, read), dict[str, Entry | None]()
    try:
        for action in reader.opening_actions():
            state.take(action)
        paths = reader.sidecar_paths(MOST_PARTS)
        sidecars = dict(zip(paths, storage.each(paths), strict=True))
        reader.check_files(sidecars, MOST_BYTES)
    except CheckpointError as error:
        if error.damaged:
            problems.add(newest.files[0].name, f"the checkpoint is damaged: {error}", ProblemCode.STOPS_SPARK)
        return sidecars
    problems.extend(problem for problem in read.found() if problem.code is ProblemCode.STOPS_SPARK)
    if not state.whole and _stay_lacking(storage, listing, range(newest.version + 1, version + 1), state):
        problems.add(newest.files[0].name, LACKS, ProblemCode.STOPS_SPARK)
    return sidecars


def _is_long_json(checkpoint: Checkpoint) -> bool:
    return any(file.name.endswith(".json") and file.size > MOST_JSON for file in checkpoint.files)


def _stay_lacking(storage: Storage, listing: Listing, versions: range, state: TableState) -> bool:
    """Whether the commits after a checkpoint don't bring what it lacks. Too many of them aren't read: that they do can't be ruled out."""
    if versions.stop - versions.start > MOST_COMMITS:
        return False
    for entry in (listing.commits[version] for version in versions if version in listing.commits):
        for action in typed_actions(storage, f"{LOG}/{entry.name}", entry.size, entry.name, Problems()):
            if isinstance(action, Metadata | Protocol):
                state.take(action)
    return not state.whole
