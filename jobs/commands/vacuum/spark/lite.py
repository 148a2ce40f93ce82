"""The files that a lite vacuum looks at: those that the commits of a range removed, without a listing.

Rules: Delta 4.4.0, VacuumCommand.getFilesFromDeltaLog and LastVacuumInfo.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobs.commands.vacuum.spark.listing import AT_ONCE, Batch
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.lines import read_lines
from tables.deltalog.read.problems import Problems
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.state.listing import Listing as LogListing
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.keys import below, key
from tables.deltalog.vacuum.removals import file_actions, size_of, vector_of, whole
from tables.storage.store import StorageError

INFO = "_last_vacuum_info"
REFUSED = "VACUUM LITE cannot delete all eligible files as some files are not referenced by the Delta log. Please run VACUUM FULL."
MOST_INFO = 1 << 20


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """The commits of a range, both ends included, of the table at `root`."""

    log: DeltaLog
    listing: LogListing
    root: str
    first: int
    last: int

    def batches(self) -> Iterator[Batch]:
        """The files that they removed, and their files of the change feed, each once; its time is that of its tombstone, else 0."""
        batch, seen = Batch(), set[int]()
        for path, size, time in self._files():
            if (known := key(path)) in seen:
                continue
            seen.add(known)
            batch.add(path, size, time)
            if len(batch.paths) >= AT_ONCE:
                yield batch
                batch = Batch()
        yield batch

    def _files(self) -> Iterator[tuple[str, int, int]]:
        for version in range(self.last, self.first - 1, -1):  # the newest tombstone of a file counts
            if entry := self.listing.commits.get(version):
                problems = Problems()
                found = read_lines(self.log.storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems)
                for name, value in file_actions((line for _, line in found), entry.name, with_additions=False):
                    if name in ("remove", "cdc"):
                        yield from self._named(value)
                for problem in problems.found():
                    raise StorageError(f"{problem.file}: {problem.reason}")

    def _named(self, value: Any) -> Iterator[tuple[str, int, int]]:
        time, path = whole(value.get("deletionTimestamp")), value.get("path")
        if isinstance(path, str) and (place := below(path, self.root)) is not None:
            yield place, size_of(value.get("size")), time
        if found := vector_of(value.get("deletionVector")):
            yield *found, time


def removed_until(
    log: DeltaLog, listing: LogListing, snapshot: Snapshot, root: str, cut_ms: int
) -> RemovedFiles | None:
    """The commits that a lite vacuum looks at: after those of the last one, up to the cut. None for none.

    Raises CommandRefused with Delta's condition where the log has lost commits that no vacuum has looked at.
    """
    earliest, seen = listing.earliest_commit, _last_seen(log)
    last = _last_before(log, listing, snapshot, cut_ms)
    if earliest is None or last is None:
        return None
    if earliest != 0 and (seen is None or seen < earliest):
        failure = EngineFailure("DELTA_CANNOT_VACUUM_LITE", "55000", REFUSED)
        raise CommandRefused(Refusal("invalid", REFUSED, remedy="Request it without lite.", engine=failure))
    first = min(snapshot.version, earliest if seen is None else seen + 1)
    return RemovedFiles(log, listing, root, first, last) if first <= last else None


def _last_before(log: DeltaLog, listing: LogListing, snapshot: Snapshot, cut_ms: int) -> int | None:
    """The newest commit that was made at or before the cut."""
    versions = range(listing.earliest_commit or 0, snapshot.version + 1)
    times = log.times(versions, snapshot.metadata)
    return max((version for version, at in times if at.timestamp() * 1000 <= cut_ms), default=None)


def _last_seen(log: DeltaLog) -> int | None:
    """The newest commit that the last lite vacuum looked at, by the file that Delta leaves; None where it says nothing."""
    try:
        entry = log.storage.entry(f"{LOG}/{INFO}")
        if entry is None or entry.size > MOST_INFO:
            return None
        value = json.loads(b"".join(log.storage.chunks(f"{LOG}/{INFO}", entry.size)))
    except (StorageError, ValueError, RecursionError):
        return None
    version = value.get("latestCommitVersionOutsideOfRetentionWindow") if isinstance(value, dict) else None
    return version if isinstance(version, int) and not isinstance(version, bool) else None
