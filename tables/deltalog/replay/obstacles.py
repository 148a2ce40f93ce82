"""What keeps Spark from opening a table's newest version although Levee can read it: looked for before a change is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from tables.deltalog.checkpoints.checksums import compare_opening, read_checksum
from tables.deltalog.checkpoints.newest import check_newest, is_read
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.problems import LogProblem, ProblemCode, Problems
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.opening import stopping_reason
from tables.deltalog.state.listing import Listing, read_listing
from tables.deltalog.state.snapshot import Snapshot
from tables.storage.store import Entry, Storage

_MOST_KNOWN = 200
_Sidecars = Mapping[str, Entry | None]
_known: dict[
    object, tuple[tuple[LogProblem, ...], _Sidecars]
] = {}  # by the files that were looked at, as they lay there


def obstacles(location: str, snapshot: Snapshot, checkpoint: int | None) -> tuple[LogProblem, ...]:
    """Problems STOPS_SPARK of the log as it lies there now, for a snapshot of its newest version.

    `checkpoint` is the version of the newest complete checkpoint: what is older isn't listed. Reads the version's checksum, and of the
    checkpoint what `check_newest` reads, unless they lie there as at the last look; of commits it says what the snapshot knows. Raises
    StorageError.
    """
    storage = open_log(location).storage
    since = snapshot.version if checkpoint is None else min(checkpoint, snapshot.version)
    entries = tuple(storage.entries(LOG, f"{since:020d}"))
    key = (location, snapshot.version, snapshot.head_file, entries)
    known = _known.get(key)
    if known is None or list(storage.each(known[1])) != list(known[1].values()):
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        known = _known[key] = _looked_for(storage, read_listing(entries), snapshot)
    return known[0]


def _looked_for(storage: Storage, listing: Listing, snapshot: Snapshot) -> tuple[tuple[LogProblem, ...], _Sidecars]:
    found = Problems()
    compare_opening(read_checksum(storage, listing.checksums.get(snapshot.version), Problems()), snapshot.state, found)
    sidecars = check_newest(storage, listing, snapshot.version, found)
    found.extend(problem for problem in snapshot.problems if is_read(problem, listing, snapshot.version))
    if reason := stopping_reason(snapshot.protocol, snapshot.metadata):
        found.add("", reason, ProblemCode.STOPS_SPARK)
    return tuple(problem for problem in found.found() if problem.code is ProblemCode.STOPS_SPARK), sidecars
