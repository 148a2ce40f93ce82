"""One pass over what is new in a log: history and state together, so that every commit is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tables.deltalog.checkpoints.bases import Base, FromCheckpoint, FromSaved, choose_base
from tables.deltalog.checkpoints.checksums import read_checksum
from tables.deltalog.checkpoints.last_checkpoint import check_last_checkpoint
from tables.deltalog.checkpoints.newest import as_spark_begins, check_newest, newest_used
from tables.deltalog.checkpoints.reading import CheckpointError
from tables.deltalog.read.commits import LogCommit, read_commit
from tables.deltalog.read.file_sums import FileSums
from tables.deltalog.read.filenames import LOG, commit_version
from tables.deltalog.read.problems import LogProblem, Problems, harms_state
from tables.deltalog.read.readahead import reading_ahead
from tables.deltalog.read.times import Clock
from tables.deltalog.replay.compactions import StandIns
from tables.deltalog.replay.rebuild import rebuild
from tables.deltalog.replay.replay import LogHead, Replay
from tables.deltalog.state.listing import Listing, read_listing
from tables.deltalog.state.mending import Broken, lasting, mended, remember
from tables.deltalog.state.snapshot import Snapshot
from tables.storage.store import Storage


class Sync:
    """Iterate over `commits()` to its end, then ask for `snapshot()`.

    `fresh` says that the state is rebuilt from the log and not from `base`: there was none, it is of another log, the log has more to
    offer than it (`_is_outdone`), or what was broken has changed since. `since` is the version after which commits come: as asked
    for, else the base's, before the first commit that was broken and has changed, and -1 when the base is of another log, since
    then no commit is known. `head` is the newest version, None for an empty log. `mistimed`, known
    at the end of `commits()`, are versions of which a later commit's metadata says that they were timed otherwise (times.py); their
    times are `DeltaLog.times`.
    """

    def __init__(self, storage: Storage, target: Path, base: Snapshot | None, since: int | None) -> None:
        self._storage = storage
        self._target = target
        self._problems = Problems(newest=True)
        self._base = base if base is not None and base.files_path is not None else None
        self._listing = _listing(storage, self._base)
        known = since if since is not None else self._base.version if self._base else -1
        if self._base is not None and not _continues(self._base, self._listing):
            known = -1
            self._drop_base()
        elif self._base is not None and (changed := mended(storage, self._base.broken)):
            known = min([known, *(version - 1 for name in changed if (version := commit_version(name)) is not None)])
            self._drop_base()
        elif self._base is not None and _is_outdone(self._base, self._listing):
            self._drop_base()
        self.fresh = self._base is None
        self.since = known
        self.head = self._listing.head
        self.mistimed = range(0)
        self.completed: dict[int, FileSums] = {}
        self._finished: Snapshot | None = None

    def _drop_base(self) -> None:
        self._base = None
        self._listing = _listing(self._storage, None)

    @property
    def listing(self) -> Listing:
        """The files of the log that this pass looks at: all when `fresh`, else those from the base's version on."""
        return self._listing

    def commits(self) -> Iterator[LogCommit]:
        """New commits, oldest first; those after the base also feed the snapshot."""
        if self.head is None:
            return
        if self._base is not None and self._base.version == self.head:
            self._finished = self._base
            return
        base = self._start(self.head)
        with Replay(base, self._target, self._problems) as replay:
            clock = Clock(self._base.clock_ms if self._base else None, lambda: replay.state.metadata)
            last: LogCommit | None = None
            stand_ins = StandIns(self._storage, self._listing, base.version, self.head, self._problems)
            for last in self._read(replay, clock, stand_ins):
                if last.version > self.since:
                    yield last
            stand_ins.play(self.head, replay)
            replay.complete &= stand_ins.note_missing()
            committed = last.committed_at if last and last.version == self.head else None
            checksum = read_checksum(self._storage, self._listing.checksums.get(self.head), self._problems)
            check_last_checkpoint(self._storage, self._listing.last_checkpoint, self._problems)
            if not isinstance(base, FromCheckpoint) or base.checkpoint != newest_used(self._listing, self.head):
                check_newest(self._storage, self._listing, self.head, self._problems)
            newest = self._listing.commits.get(self.head)
            head = LogHead(self.head, committed, clock.previous_ms, newest, checksum, self._remember())
            self._finished = self._finish(replay, head)
            clock.follow(self._finished.metadata, self.head + 1)
            self.mistimed = clock.mistimed
            self.completed = replay.removed_rows.completed()

    def _read(self, replay: Replay, clock: Clock, stand_ins: StandIns) -> Iterator[LogCommit]:
        """Commits that are new to the history or to the state."""
        base = replay.base.version
        start = min(self.since, base)
        wanted = {version: entry for version, entry in self._listing.commits.items() if version > start}
        if self._base is None:  # else the clock goes on from the base
            for version, entry in self._listing.commits.items():
                if version <= start:
                    clock.pass_over(entry.modified_ms)
        with reading_ahead(self._storage, wanted.values()) as storage:
            for version, entry in wanted.items():
                stand_ins.play(version, replay)
                in_state = version > base and not stand_ins.covers(version)
                earlier = replay.removed_rows
                sink = replay.take if in_state else earlier.note
                rows_of = replay.rows_of(version) if in_state else earlier.of_earlier
                commit = read_commit(storage, version, entry, clock, sink, rows_of)
                if commit.problems:
                    self._problems.extend(as_spark_begins(commit.problems, self._listing, self.head or version))
                    replay.complete &= not in_state or not harms_state(commit.problems)
                yield commit

    def snapshot(self) -> Snapshot:
        """The table at the head, reading what `commits()` has not been asked for."""
        if self._finished is None:
            for _ in self.commits():
                pass
        if self._finished is None:
            raise ValueError("the log holds no commit and no checkpoint")
        return self._finished

    def _start(self, head: int) -> Base:
        if self._base is not None:
            self._problems.extend(reversed(lasting(self._base.problems, self._listing)))
            return FromSaved(self._base)
        self._problems.extend(self._listing.problems)
        return choose_base(self._storage, self._listing, head, self._problems, set())

    def _remember(self) -> Callable[[tuple[LogProblem, ...]], Broken]:
        return partial(remember, self._storage, self._listing, self._base.broken if self._base else {})

    def _finish(self, replay: Replay, head: LogHead) -> Snapshot:
        try:
            return replay.finish(head)
        except CheckpointError:
            return rebuild(self._storage, self._listing, head.version, self._target, self._problems)


def _listing(storage: Storage, base: Snapshot | None) -> Listing:
    return read_listing(storage.entries(LOG, "" if base is None else f"{base.version:020d}"))


def _is_outdone(base: Snapshot, listing: Listing) -> bool:
    """Whether the log has more to offer than a base in which something is missing: a checkpoint, or commits that bring it."""
    if not base.state.whole:
        return listing.head != base.version
    return not base.complete and bool(listing.checkpoints)


def _continues(base: Snapshot, listing: Listing) -> bool:
    """False when the log is another one than the base was read from: shorter, or with another file at the base's version."""
    if listing.head is None or listing.head < base.version:
        return False
    now = listing.commits.get(base.version)
    return now is None or base.head_file is None or now == base.head_file
