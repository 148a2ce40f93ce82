"""When commits were made, as DESCRIBE HISTORY says it.

The table's newest metadata decides for all of them: while it enables in-commit timestamps, commits tell their own time from the
version on that enabled them; before that version, and wherever the feature is off, their files' times count. Sources:
`DeltaHistoryManager.getHistory`, `InCommitTimestampUtils.getValidatedICTEnablementInfo`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from tables.deltalog.read.actions import Metadata
from tables.deltalog.read.fields import from_millis

_NEVER = 1 << 63
"""Beyond the last version that a log can have."""


@dataclass(frozen=True, slots=True)
class InCommitTimestamps:
    """Whether commits carry their own times, and from which version on (None: from the table's first)."""

    enabled: bool
    enablement_version: int | None = None
    enablement_timestamp: datetime | None = None

    @property
    def begin(self) -> int:
        """The version from which on commits tell their own time; one that is never reached while the feature is off."""
        return (self.enablement_version or 0) if self.enabled else _NEVER

    def differs(self, other: InCommitTimestamps) -> range:
        """The versions whose times come from elsewhere under the other setting."""
        return range(min(self.begin, other.begin), max(self.begin, other.begin))


def in_commit_timestamps(metadata: Metadata | None) -> InCommitTimestamps:
    """What a table's metadata says of them; values that are no numbers count as not given."""
    configuration = metadata.configuration if metadata else {}
    millis = _number(configuration.get("delta.inCommitTimestampEnablementTimestamp"))
    return InCommitTimestamps(
        configuration.get("delta.enableInCommitTimestamps", "").lower() == "true",
        _number(configuration.get("delta.inCommitTimestampEnablementVersion")),
        None if millis is None else from_millis(millis),
    )


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def hull(one: range, other: range) -> range:
    """The shortest run of versions that holds both."""
    if not one or not other:
        return one or other
    return range(min(one.start, other.start), max(one.stop, other.stop))


def overlap(one: range, other: range) -> range:
    """The versions that lie in both."""
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _unknown() -> Metadata | None:
    return None


class Clock:
    """Tells the times of commits, asked in the order of their versions.

    `newest` answers the newest metadata that is known when a commit is told. A later one may tell it otherwise: `mistimed` are the
    versions told so far of which that is so. `previous_ms` is the last file's time, made to rise: one that is not newer than the one
    before it counts as 1 ms later (`DeltaHistoryManager.monotonizeCommitTimestamps`). It goes through all versions, whichever time
    they are told by, since any of them may come to be told by its file.
    """

    def __init__(self, previous_ms: int | None = None, newest: Callable[[], Metadata | None] = _unknown) -> None:
        self.previous_ms = previous_ms
        self.mistimed = range(0)
        self._newest = newest
        self._metadata = newest()
        self._rule = in_commit_timestamps(self._metadata)
        self._first: int | None = None

    def pass_over(self, modified_ms: int) -> int:
        """The time of a commit by its file, in milliseconds."""
        if self.previous_ms is not None and modified_ms <= self.previous_ms:
            modified_ms = self.previous_ms + 1
        self.previous_ms = modified_ms
        return modified_ms

    def tell(self, version: int, modified_ms: int, in_commit: datetime | None) -> datetime:
        """The commit's time. One that lacks the time that it should carry is told by its file: Delta shows no history then."""
        by_file = self.pass_over(modified_ms)
        self.follow(self._newest(), version)
        self._first = version if self._first is None else self._first
        return in_commit if in_commit is not None and version >= self._rule.begin else from_millis(by_file)

    def follow(self, metadata: Metadata | None, version: int) -> None:
        """Takes a metadata as the newest one, after the versions before `version` were told."""
        if metadata is self._metadata:
            return
        before, self._metadata = self._rule, metadata
        self._rule = in_commit_timestamps(metadata)
        if self._first is not None:
            told = range(self._first, version)
            self.mistimed = hull(self.mistimed, overlap(before.differs(self._rule), told))
