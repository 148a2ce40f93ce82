"""What a change means beyond its numbers, in sentences: each has a stable code."""

from __future__ import annotations

from datetime import timedelta

Consequence = dict[str, str]


def of_delete(branch: str, *, change_feed: bool, retention: timedelta, version: int) -> list[Consequence]:
    """A delete's: how long the rows can still be read and brought back, what stays in storage, and the change feed.

    `retention` is the table's `delta.deletedFileRetentionDuration`, `version` the one that still has the rows. The rules are
    Delta 4.4's DeleteCommand and VacuumCommand.
    """
    if branch == "nothing":
        return []
    found = [
        _said(
            "readable_until",
            f"The rows can still be read at version {version:,}, and brought back by a restore to it, until VACUUM removes their"
            f" files, at the earliest {in_words(retention)} after the delete, and no longer than that version is"
            f" {in_words(retention)} old: Delta refuses older ones.",
        ),
        _said("bytes_stay", _bytes_stay(branch)),
    ]
    return [*found, _said("change_feed", _change_feed(branch))] if change_feed else found


def of_restore(*, change_feed: bool, retention: timedelta, head: int) -> list[Consequence]:
    """A restore's. `head` is the version that it leaves behind, which can be restored in turn."""
    found = [
        _said(
            "reversible",
            f"Version {head:,} stays in the history: it can be restored in turn until VACUUM removes its files, at the earliest"
            f" {in_words(retention)} after the restore, and no longer than it is {in_words(retention)} old.",
        ),
        _said("metadata_too", "Schema, partitioning and table properties go back to that version as well."),
    ]
    if change_feed:
        text = "Readers of the change feed see the rows that come back as inserts and those that go as deletes."
        found.append(_said("change_feed", text))
    return found


def _said(code: str, text: str) -> Consequence:
    return {"code": code, "text": text}


def _bytes_stay(branch: str) -> str:
    if branch == "deletion_vectors":
        return (
            "The rows are only marked as deleted: their bytes stay in the same files until those are rewritten"
            " (OPTIMIZE or REORG … PURGE) and VACUUM has removed the old ones. For an erasure that isn’t enough."
        )
    return "The bytes stay in storage until VACUUM removes the old files. For an erasure that isn’t enough by itself."


def _change_feed(branch: str) -> str:
    if branch == "rewrite":
        return "The change feed is on: Delta writes the deleted rows to _change_data as well."
    return "The change feed is on: readers derive the deleted rows from the removed files; nothing extra is written."


def in_words(span: timedelta) -> str:
    """A span in its largest whole unit: `7 days`, `36 hours`."""
    seconds = int(span.total_seconds())
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size and seconds % size == 0:
            count = seconds // size
            return f"{count:,} {unit}{'s' if count != 1 else ''}"
    return f"{seconds:,} seconds"
