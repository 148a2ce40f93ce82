"""A snapshot from the log alone, whatever of it can be read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tables.deltalog.checkpoints.bases import FromCheckpoint, choose_base
from tables.deltalog.checkpoints.checksums import read_checksum
from tables.deltalog.checkpoints.newest import newest_used
from tables.deltalog.checkpoints.reading import CheckpointError
from tables.deltalog.read.commits import LogCommit, read_commit
from tables.deltalog.read.problems import ProblemCode, Problems, harms_state
from tables.deltalog.read.readahead import reading_ahead
from tables.deltalog.read.times import Clock
from tables.deltalog.replay.compactions import StandIns
from tables.deltalog.replay.replay import LogHead, Replay
from tables.deltalog.state.listing import Checkpoint, Listing
from tables.deltalog.state.mending import remember
from tables.deltalog.state.snapshot import Snapshot
from tables.storage.store import Storage


def rebuild(storage: Storage, listing: Listing, version: int, target: Path | None, problems: Problems) -> Snapshot:
    """The snapshot at a version, with the newest checkpoint that can be read to its end."""
    skip: set[Checkpoint] = set()
    while True:
        base = choose_base(storage, listing, version, problems, skip)
        with Replay(base, target, problems) as replay:
            head = _replay_until(version, storage, listing, replay, problems)
            try:
                return replay.finish(head)
            except CheckpointError as error:
                if not isinstance(base, FromCheckpoint):
                    raise
                skip.add(base.checkpoint)
                stops = error.damaged and version == listing.head and base.checkpoint == newest_used(listing, version)
                code = ProblemCode.STOPS_SPARK if stops else ProblemCode.UNREADABLE
                problems.add(base.checkpoint.files[0].name, f"the checkpoint is not used: {error}", code)


def _replay_until(version: int, storage: Storage, listing: Listing, replay: Replay, problems: Problems) -> LogHead:
    clock = Clock(newest=lambda: replay.state.metadata)
    last: LogCommit | None = None
    stand_ins = StandIns(storage, listing, replay.base.version, version, problems)
    start = min(replay.base.version, version - 1)
    for number, entry in listing.commits.items():
        if number <= start:
            clock.pass_over(entry.modified_ms)
    wanted = {number: entry for number, entry in listing.commits.items() if start < number <= version}
    with reading_ahead(storage, wanted.values()) as fetched:
        for number, entry in wanted.items():
            stand_ins.play(number, replay)
            sink = replay.take if number > replay.base.version and not stand_ins.covers(number) else None
            last = read_commit(fetched, number, entry, clock, sink)
            problems.extend(last.problems)
            replay.complete &= sink is None or not harms_state(last.problems)
    stand_ins.play(version, replay)
    replay.complete &= stand_ins.note_missing()
    committed = last.committed_at if last and last.version == version else None
    checksum = read_checksum(storage, listing.checksums.get(version), problems)
    looks = partial(remember, storage, listing, {})
    return LogHead(version, committed, clock.previous_ms, listing.commits.get(version), checksum, looks)
