"""A vacuum's plan: which files Delta would delete, and what else is told about them. Memory doesn't grow with the paths.

Rules: Delta 4.4.0, VacuumCommand.gc. A file goes if it was last changed before the cut and is neither of the newest version nor has a
tombstone that Delta still knows (removed within the table's own retention) and that is younger than the cut. A directory goes if none
of its files is that old and no file that stays is named in it.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from jobs.commands.vacuum.rules import HOUR_MS
from jobs.commands.vacuum.spark.listing import Batch, DirectoryListing
from jobs.commands.vacuum.spark.lite import RemovedFiles, removed_until
from jobs.domain.engine import Report
from jobs.domain.errors import CommandRefused, Refusal
from tables.deltalog.replay.log import DeltaLog, NoTable, open_log
from tables.deltalog.rules.retention import deleted_file_retention
from tables.deltalog.state.listing import Listing as LogListing
from tables.deltalog.state.snapshot import Snapshot
from tables.deltalog.vacuum.hidden import has_iceberg
from tables.deltalog.vacuum.keys import KEY, bytes_of, with_parents
from tables.deltalog.vacuum.misnamed import Misnamed
from tables.deltalog.vacuum.removals import UNKNOWN, FileChanges, read_changes, read_commits
from tables.deltalog.vacuum.state import live_files, newest_tombstones
from tables.deltalog.vacuum.versions import Span, dying
from tables.storage import stores
from tables.storage.store import StorageError

SAMPLE = 20
ATTRIBUTED = 2_000  # of the newest commits before the cut, those that are read to tell which commit removed a file
LATER_MS = 60_000  # a tombstone's time is that of its transaction's begin
SLACK_MS = 24 * HOUR_MS  # a transaction takes no longer, and by no more is a commit's own time later than its file's


@dataclass(frozen=True, slots=True)
class PlanOrder:
    """What to plan: the table at `path` as of `version` (None: the newest), at the time `now_ms`, for a retention (None: its own).

    Tombstones are read from the newest checkpoint at or below `since` on (None: at or below the version). What was removed after
    `since` stays.
    """

    path: str
    hours: int | None
    lite: bool
    now_ms: int
    version: int | None = None
    since: int | None = None


@dataclass(slots=True)
class Plan:
    """The files that go. `gone` has the columns `key`, `size`, `time`, `unneeded` (ms: since when none needs it); so has `unused`, which
    are all files but those of the newest version. `paths` are theirs, where they were asked for; then `lives` has the removals and
    additions after `first`, the oldest version that can be read, if a file that goes was removed after it."""

    version: int
    own: timedelta
    cut_ms: int
    changes: FileChanges
    gone: pa.Table
    unused: pa.Table
    directories: list[str]
    dying: list[Span]
    sample: list[str]
    paths: list[str] = field(default_factory=list)
    listed: int | None = None
    nested: Sequence[str] = ()
    nested_count: int = 0
    first: int = 0
    lives: FileChanges = field(default_factory=lambda: FileChanges(-1))

    def dying_of(self, gone: pa.Array) -> list[Span]:
        """The versions that need one of the files with these keys, of those that go."""
        return dying(self.lives, gone, self.first, self.version)

    @property
    def files(self) -> int:
        return int(self.gone.num_rows)

    @property
    def bytes(self) -> int | None:
        """None where the log alone tells the sizes, and doesn't tell one of them."""
        return bytes_of(self.gone)

    @property
    def digest(self) -> str:
        """Equal for equal sets of files: a hash of their paths and sizes, in the order of their keys."""
        found = self.gone.select(["key", "size"]).sort_by([("key", "ascending"), ("size", "ascending")])
        digest = hashlib.sha256(_numbers(found["key"]))
        digest.update(_numbers(found["size"].fill_null(UNKNOWN)))
        return digest.hexdigest()


def _numbers(column: pa.ChunkedArray) -> memoryview | bytes:
    """The bytes of a column of 64-bit numbers."""
    array = column.combine_chunks()
    return memoryview(array.buffers()[1])[8 * array.offset : 8 * (array.offset + len(array))] if len(array) else b""


def planned(order: PlanOrder, report: Report, *, with_paths: bool = False) -> Plan:
    """Reads the log, then lists the directory.

    Raises CommandRefused: `unreadable`, `stale`, `invalid`, `outside_roots`, `misnamed_files`.
    """
    with tempfile.TemporaryDirectory(prefix="levee-vacuum-") as scratch:
        try:
            return _planned(order, report, Path(scratch), with_paths=with_paths)
        except (StorageError, NoTable) as error:
            text = f"The table's log can't be read with certainty: {str(error).rstrip('.')}."
            raise CommandRefused(Refusal("unreadable", text, place=order.path)) from error


def _planned(order: PlanOrder, report: Report, scratch: Path, *, with_paths: bool) -> Plan:
    report.stage("reading the log")
    log = open_log(order.path)
    listing = log.listing()
    snapshot = log.snapshot(order.version, scratch / "live.arrow")
    if not snapshot.complete or snapshot.metadata is None:
        raise StorageError("a part of it is missing or corrupt")
    own = deleted_file_retention(snapshot.metadata.configuration)
    own_ms = int(own / timedelta(milliseconds=1))
    cut_ms = order.now_ms - (own_ms if order.hours is None else order.hours * HOUR_MS)
    oldest_ms = order.now_ms - own_ms
    first = _first_readable(log, listing, snapshot, oldest_ms)
    since = snapshot.version if order.since is None else order.since
    late = [version for version in listing.commits if version > first]
    also = {*_attributed(listing, cut_ms), *(late if cut_ms > oldest_ms else _begun_before(listing, cut_ms, late))}
    changes = read_changes(log.storage, listing, order.path, until=since, also=also, additions_after=None)
    live, folders = live_files(snapshot, order.path)
    known = newest_tombstones(changes, oldest_ms)
    folders |= {place for folder, time in changes.removed.folders.items() if time >= cut_ms and time > oldest_ms
                for place in with_parents(folder)}  # fmt: skip
    report.stage("listing files")
    looked: DirectoryListing | RemovedFiles | None
    if order.lite:
        looked = removed_until(log, listing, snapshot, order.path, cut_ms)
    else:
        iceberg = has_iceberg(snapshot.metadata.configuration)
        place = stores.tree_at(order.path)
        looked = DirectoryListing(place, snapshot.metadata.partition_columns, iceberg=iceberg, cut_ms=cut_ms)
    sieve = _Sieve(live, known, cut_ms, since, with_paths=with_paths)
    misnamed = Misnamed(snapshot, order.path)
    for batch in looked.batches() if looked else ():
        misnamed.saw(sieve.take(batch))
    gone, unused = sieve.tables()
    _refuse_misnamed(order.path, misnamed, gone["key"].combine_chunks())
    plan = Plan(snapshot.version, own, cut_ms, changes, gone, unused, [], [], sieve.sample, sieve.paths)
    if isinstance(looked, DirectoryListing):
        plan.directories = sorted(path for path, old in looked.folders.items() if not old and path not in folders)
        plan.listed, plan.nested, plan.nested_count = looked.files, looked.nested, looked.nested_count
    plan.first, plan.lives = first, _lives(log, listing, order.path, gone, first)
    plan.dying = plan.dying_of(gone["key"].combine_chunks())
    if not with_paths:  # a preview asks no more, and may be of millions of files
        plan.lives = FileChanges(-1)
    return plan


def _refuse_misnamed(path: str, misnamed: Misnamed, gone: pa.Array) -> None:
    lost = misnamed.lost(gone)
    if count := len(lost):
        names = misnamed.names(lost, SAMPLE)
        named = ", ".join(names) + (f" and {count - len(names):,} more" if count > len(names) else "")
        text = (
            f"{count:,} of the files that Delta would delete {'is a live file' if count == 1 else 'are live files'}: their writer has put"
            f" them where the log’s undecoded text says, and Delta looks elsewhere. No other copy of their rows is there: {named}."
        )
        remedy = "Move them to the decoded names (`p=a%20b` to `p=a b`), or write their rows again, before you vacuum."
        raise CommandRefused(Refusal("misnamed_files", text, place=path, remedy=remedy))


def _lives(log: DeltaLog, listing: LogListing, root: str, gone: pa.Table, first: int) -> FileChanges:
    """Removals and additions after `first`. They are read only if one of the files was removed after it.

    That happens with the table's own retention as well: a tombstone has the time at which its transaction began, and a version that
    was committed before the transaction's end needs the file.
    """
    lives = FileChanges(-1)
    if pc.any(pc.greater(gone["removed_by"], first)).as_py():
        later = {version: entry for version, entry in listing.commits.items() if version > first}
        read_commits(log.storage, later, root, lives, first)
    return lives


def _first_readable(log: DeltaLog, listing: LogListing, snapshot: Snapshot, oldest_ms: int) -> int:
    """The oldest version that the log can rebuild and that Delta reads: its own commit is within the table's retention."""
    spans = [span for span in listing.rebuildable if span.start <= snapshot.version]
    # Spares reading the commits' own times of weeks that are past by their files' times.
    recent = (version for version, entry in listing.commits.items() if entry.modified_ms >= oldest_ms - SLACK_MS)
    begin = max(spans[-1].start if spans else snapshot.version, min(next(recent, snapshot.version), snapshot.version))
    times = log.times(range(begin, snapshot.version + 1), snapshot.metadata)
    return next((version for version, at in times if at.timestamp() * 1000 >= oldest_ms), snapshot.version)


def _attributed(listing: LogListing, cut_ms: int) -> list[int]:
    return [version for version, entry in listing.commits.items() if entry.modified_ms < cut_ms + LATER_MS][
        -ATTRIBUTED:
    ]


def _begun_before(listing: LogListing, cut_ms: int, versions: Sequence[int]) -> list[int]:
    """Those of the commits whose transactions may have begun before the cut."""
    return [version for version in versions if listing.commits[version].modified_ms < cut_ms + SLACK_MS]


class _Sieve:
    """Keeps the files that aren't of the newest version, as numbers, and the paths of those that go."""

    def __init__(self, live: pa.Array, tombstones: pa.Table, cut_ms: int, since: int, *, with_paths: bool) -> None:
        self._live, self._cut = live, cut_ms
        self._tombstones = tombstones.combine_chunks()
        # What was live in the previewed version never goes, even if its tombstone's time is older than the cut.
        later = pc.greater(self._tombstones["version"], since)
        kept = self._tombstones.filter(pc.or_(pc.greater_equal(self._tombstones["time"], cut_ms), later))
        self._kept = kept["key"].combine_chunks()
        self._with_paths = with_paths
        self._parts: list[pa.Table] = []
        self.sample: list[str] = []
        self.paths: list[str] = []

    def take(self, batch: Batch) -> pa.Array:
        """Returns the keys of the files."""
        table = batch.table()
        unused = pc.invert(pc.is_in(table["key"], value_set=self._live))
        old = pc.less(table["time"], self._cut)
        goes = pc.and_(pc.and_(unused, old), pc.invert(pc.is_in(table["key"], value_set=self._kept)))
        self._parts.append(table.append_column("goes", goes).filter(unused))
        room = None if self._with_paths else SAMPLE - len(self.sample)
        if room is None or room > 0:
            places = pc.indices_nonzero(goes.combine_chunks())[:room].to_pylist()
            self._name([batch.paths[place] for place in places])
        return table["key"].combine_chunks()

    def _name(self, paths: list[str]) -> None:
        self.sample += paths[: SAMPLE - len(self.sample)]
        if self._with_paths:
            self.paths += paths

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """What goes, and all that isn't of the newest version: `key`, `size`, `time`, `unneeded`, `removed_by` (null: unknown)."""
        unused = pa.concat_tables(self._parts) if self._parts else _NONE
        places = pc.index_in(unused["key"], value_set=self._tombstones["key"].combine_chunks())
        removed = pc.fill_null(self._tombstones["time"].take(places), 0)
        unused = unused.append_column("unneeded", pc.max_element_wise(unused["time"], removed))
        unused = unused.append_column("removed_by", self._tombstones["version"].take(places))
        return unused.filter(unused["goes"]), unused


_NONE = pa.table(
    {
        "key": pa.array([], KEY),
        "size": pa.array([], pa.int64()),
        "time": pa.array([], pa.int64()),
        "goes": pa.array([], pa.bool_()),
    }
)
