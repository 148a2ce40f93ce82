"""Log compaction files where they are needed: in place of commits that are missing.

A compaction holds the reconciled actions of several versions. Commits are read anyway, for the history, so that a compaction gains
nothing while they are there; but it can stand in for lost ones, as it may for any Delta reader.
"""

from __future__ import annotations

from tables.deltalog.filenames import LOG
from tables.deltalog.lines import read_actions
from tables.deltalog.listing import Compaction, Listing
from tables.deltalog.parsing import parse_action
from tables.deltalog.problems import Code, Problems
from tables.deltalog.replay import Replay
from tables.deltalog.storage import Storage


class StandIns:
    """The compactions that a replay from `start` (not included) to `end` needs, each played once when its turn comes."""

    def __init__(self, storage: Storage, listing: Listing, start: int, end: int, problems: Problems) -> None:
        self._storage = storage
        self._problems = problems
        self._waiting: list[Compaction] = []
        self._spans: list[range] = []
        self.missing: list[int] = []
        usable = [item for item in listing.compactions if start < item.start and item.end <= end]
        for version in listing.gaps(start + 1, end):
            if not self.covers(version) and not self._enlist(version, usable):
                self.missing.append(version)

    def _enlist(self, version: int, usable: list[Compaction]) -> bool:
        for item in usable:
            span = range(item.start, item.end + 1)
            if version in span and not any(item.start in other or item.end in other for other in self._spans):
                self._waiting.append(item)
                self._spans.append(span)
                return True
        return False

    def covers(self, version: int) -> bool:
        """True for versions whose actions come from a compaction, so that their commits must not count twice."""
        return any(version in span for span in self._spans)

    def play(self, until: int, replay: Replay) -> None:
        """Replays the compactions that begin at or before a version."""
        while self._waiting and self._waiting[0].start <= until:
            self._play(self._waiting.pop(0), replay)

    def _play(self, item: Compaction, replay: Replay) -> None:
        problems, name = Problems(), item.file.name
        for kind, value in read_actions(self._storage, f"{LOG}/{name}", item.file.size, name, problems):
            if action := parse_action(kind, value, name, problems):
                replay.take(action)
        self._problems.extend(problems.found())
        replay.complete &= not problems

    def note_missing(self) -> bool:
        """True when nothing is missing; otherwise says which commits are, and that no compaction stands in for them."""
        for version in self.missing[:20]:
            reason = "the commit is missing, so the state after it may be wrong"
            self._problems.add(f"{version:020d}.json", reason, Code.MISSING)
        if len(self.missing) > 20:
            self._problems.add("", f"{len(self.missing) - 20} more commits are missing", Code.MISSING)
        return not self.missing
