"""Which versions of a table can still be read, restored and followed: a pure function of the log and the retention.

Source: Delta 4.4.0. Reading and restoring a version is refused once its own commit is older than `delta.deletedFileRetentionDuration`,
whether or not a vacuum ever ran; the newest version is always allowed. The change feed falls under the same rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tables.deltalog.rules.lost_versions import Lost


class FileKnowledge(StrEnum):
    """What is known of a version's data files. Only looking at the storage itself is proof: that they are gone was seen there."""

    THERE = "there"
    PERHAPS_GONE = "perhaps_gone"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """One version as its history knows it. `removes_files` says that its commit removed any; `change_feed` that the feed was on,
    None if unknown."""

    version: int
    committed_at: datetime
    in_log: bool
    removes_files: bool
    change_feed: bool | None


@dataclass(frozen=True, slots=True)
class VacuumRun:
    """A vacuum: files removed longer than `retention` before `at` were deleted; some of them, if it didn't complete."""

    version: int
    at: datetime
    retention: timedelta
    completed: bool = True


@dataclass(frozen=True, slots=True)
class VersionReach:
    """What can be done with a version now.

    `rebuildable`: checkpoint and commits are there. `readable`, `restorable`: Delta allows it and the files are not known to be
    vacuumed. `until` is when Delta begins to refuse; None for the newest version, which never expires by itself, and for versions
    that the log can't rebuild. `why` explains a no.
    """

    version: int
    in_log: bool
    rebuildable: bool
    files: FileKnowledge
    readable: bool
    restorable: bool
    change_feed: bool | None
    until: datetime | None
    why: str | None


def reachability(
    facts: Sequence[VersionFacts],
    *,
    head: int,
    rebuildable: Sequence[range],
    vacuums: Sequence[VacuumRun],
    retention: timedelta,
    now: datetime,
    lost: Sequence[Lost] = (),
) -> list[VersionReach]:
    """One Reach per fact, in the same order.

    `facts` rise by version and should run up to the head, since later removals decide about earlier files. `rebuildable` are the
    version ranges whose state the log can rebuild (`Listing.rebuildable`). `retention` is the table's deletedFileRetentionDuration.
    `lost` is what was seen in storage: vacuums that aren't in the log.
    """
    vacuumed = _last_vacuumed(facts, vacuums)
    reaches = []
    for fact in facts:
        loss = None if fact.version == head else _loss(fact.version, lost)
        reaches.append(_reach(fact, head, rebuildable, fact.version < vacuumed, loss, retention, now))
    return reaches


def _loss(version: int, lost: Sequence[Lost]) -> tuple[FileKnowledge, str] | None:
    """What a look into storage told of the version's files, in words too; None for nothing."""
    for each in lost:
        if each.takes(version):
            return FileKnowledge.GONE, f"Files that this version needs were missing from storage on {each.at:%Y-%m-%d}."
    for each in lost:
        if each.may_take(version):
            return FileKnowledge.PERHAPS_GONE, (
                f"Files of version {each.first:,} were missing from storage on {each.at:%Y-%m-%d}: a vacuum that isn’t in the log may"
                " have deleted files of this version too."
            )
    return None


def _last_vacuumed(facts: Sequence[VersionFacts], vacuums: Sequence[VacuumRun]) -> int:
    """The newest version that removed files which a vacuum deleted since: versions before it may have lost some. -1 for none."""
    versions = [fact.version for fact in facts]
    newest = -1
    for vacuum in vacuums:
        before = facts[: bisect_left(versions, vacuum.version)]
        horizon = vacuum.at - vacuum.retention
        gone = (f.version for f in reversed(before) if f.removes_files and f.committed_at <= horizon)
        newest = max(newest, next(gone, -1))
    return newest


def _reach(
    fact: VersionFacts,
    head: int,
    rebuildable: Sequence[range],
    vacuumed: bool,
    loss: tuple[FileKnowledge, str] | None,
    retention: timedelta,
    now: datetime,
) -> VersionReach:
    newest = fact.version == head
    there = any(fact.version in span for span in rebuildable)
    until = None if newest or not there else _plus(fact.committed_at, retention)
    expired = until is not None and now > until
    files = loss[0] if loss else FileKnowledge.PERHAPS_GONE if vacuumed else FileKnowledge.THERE
    whole = files is FileKnowledge.THERE
    return VersionReach(
        version=fact.version,
        in_log=fact.in_log,
        rebuildable=there,
        files=files,
        readable=there and not expired and whole,
        restorable=there and not expired and whole,
        change_feed=fact.change_feed if fact.in_log and there and not expired else False,
        until=until,
        why=_why(there, expired, vacuumed, loss),
    )


def _plus(moment: datetime, duration: timedelta) -> datetime:
    try:
        return moment + duration
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def _why(there: bool, expired: bool, vacuumed: bool, loss: tuple[FileKnowledge, str] | None) -> str | None:
    if not there:
        return "The log no longer holds what this version is rebuilt from."
    if expired:
        return "The version is older than delta.deletedFileRetentionDuration, so Delta refuses to read it."
    if loss:
        return loss[1]
    if vacuumed:
        return "A vacuum ran since and may have deleted files of this version."
    return None
