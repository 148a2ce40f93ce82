"""Log compaction files where they are needed: in place of commits that are missing.

A compaction holds the reconciled actions of several versions. Commits are read anyway, for the history, so that a compaction gains
nothing while they are there; but it can stand in for lost ones, as it may for any Delta reader.
"""

from __future__ import annotations

from bisect import bisect_right

from tables.deltalog.read.actions import Action, AddFile, RemoveFile
from tables.deltalog.read.filenames import LOG, commit_name
from tables.deltalog.read.parsing import typed_actions
from tables.deltalog.read.problems import ProblemCode, Problems, harms_state
from tables.deltalog.replay.replay import Replay
from tables.deltalog.state.listing import Compaction, Listing
from tables.deltalog.state.livefiles import file_key
from tables.storage.store import Storage


class StandIns:
    """The compactions that a replay from `start` (not included) to `end` needs, each played once when its turn comes.

    `missing` are the runs of versions that neither a commit nor a compaction stands for.
    """

    def __init__(self, storage: Storage, listing: Listing, start: int, end: int, problems: Problems) -> None:
        self._storage = storage
        self._problems = problems
        self._usable = [item for item in listing.compactions if start < item.start and item.end <= end]
        self._starts = [item.start for item in self._usable]
        self._chosen: list[Compaction] = []
        self._begins: list[int] = []
        self._played = self._passed = 0
        self._best: Compaction | None = None
        self.missing: list[range] = []
        for gap in listing.gaps(start + 1, end):
            self._fill(gap)

    def _fill(self, gap: range) -> None:
        version = max(gap.start, self._chosen[-1].end + 1) if self._chosen else gap.start
        while version < gap.stop:
            item = self._standing_for(version)
            if item is not None:
                self._choose(item)
                version = item.end + 1
            else:
                further = bisect_right(self._starts, version)
                until = min(gap.stop, self._starts[further]) if further < len(self._starts) else gap.stop
                self.missing.append(range(version, until))
                version = until

    def _standing_for(self, version: int) -> Compaction | None:
        """The compaction that holds the version and reaches furthest, among those that begin after the one chosen last."""
        while self._passed < len(self._usable) and self._starts[self._passed] <= version:
            item = self._usable[self._passed]
            self._best = item if self._best is None or item.end > self._best.end else self._best
            self._passed += 1
        return self._best if self._best is not None and self._best.end >= version else None

    def _choose(self, item: Compaction) -> None:
        self._chosen.append(item)
        self._begins.append(item.start)
        self._best, self._passed = None, bisect_right(self._starts, item.end)

    def covers(self, version: int) -> bool:
        """True for versions whose actions come from a compaction, so that their commits must not count twice."""
        place = bisect_right(self._begins, version)
        return place > 0 and version <= self._chosen[place - 1].end

    def play(self, until: int, replay: Replay) -> None:
        """Replays the compactions that begin at or before a version."""
        while self._played < len(self._chosen) and self._chosen[self._played].start <= until:
            self._play(self._chosen[self._played], replay)
            self._played += 1

    def _play(self, item: Compaction, replay: Replay) -> None:
        problems, name = Problems(), item.file.name
        named: set[str] = set()
        for action in typed_actions(self._storage, f"{LOG}/{name}", item.file.size, name, problems):
            replay.take(action)
            _note_twice(action, named, name, problems)
        self._problems.extend(problems.found())
        replay.complete &= not harms_state(problems.found())

    def note_missing(self) -> bool:
        """True when nothing is missing; otherwise says which commits are, and that no compaction stands in for them."""
        for run in self.missing:
            self._problems.add(commit_name(run.start), _reason(run), ProblemCode.MISSING)
        return not self.missing


def _note_twice(action: Action, named: set[str], file: str, problems: Problems) -> None:
    """A compaction holds what its commits come to, one action a file: of two, nothing says which is the later one."""
    if not isinstance(action, AddFile | RemoveFile):
        return
    vector = action.deletion_vector
    names = {file_key(action.path, None if vector is None else vector.unique_id)}
    if isinstance(action, AddFile):
        names.add(f"\x00add {file_key(action.path, None)}")
    if names & named:
        problems.add(file, "it names a file twice, so the state after it may be wrong")
    named |= names


def _reason(run: range) -> str:
    count = run.stop - run.start  # `len` refuses more than 64 bits
    if count == 1:
        return "the commit is missing, so the state after it may be wrong"
    return (
        f"{count:,} commits from this one to version {run.stop - 1} are missing, so the state after them may be wrong"
    )
