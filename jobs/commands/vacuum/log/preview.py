"""A vacuum's preview from the log alone, and the worker's, which adds what the directory holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from django.utils import timezone

from jobs.commands.vacuum.log.clones import needs_of_clones, said_of_clones
from jobs.commands.vacuum.log.readers import MOST_NAMED, is_lost, readable_spans, readers_of, said_of
from jobs.commands.vacuum.log.removals import MILLISECOND, Window, newest_removal, removed_before, window_of
from jobs.commands.vacuum.log.streams import refuse_below_streams, said_of_streams, streams_behind
from jobs.commands.vacuum.rules import (
    CURVE,
    HOUR_MS,
    Vacuum,
    class_of,
    consequences_of,
    first_readable_after,
    retention_of,
    too_short,
)
from jobs.domain.consequences import in_words, listed
from jobs.domain.delta.readers import unseen_files_go
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.measures import Deletable
from jobs.domain.states import State
from jobs.models import Job
from jobs.targets.subject import Subject
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.retention import DELETED_FILES, deleted_file_retention, parse_interval
from tables.deltalog.state.listing import Listing
from tables.deltalog.vacuum.keys import bytes_of
from tables.deltalog.vacuum.removals import read_changes
from tables.deltalog.vacuum.state import live_files, newest_tombstones
from tables.deltalog.vacuum.versions import Span, dying, within
from tables.history.reachability import TableReach
from tables.storage.store import StorageError

NOTHING = "No file is old enough: Delta has nothing to delete and commits nothing."
MOST_BYTES = 32 << 20  # of commits that a page reads
MOST_FILES = 200_000  # of the table that a page compares with its tombstones
UNDOABLE = ("DELETE", "RESTORE")  # the operations of those changes that a restore can undo
NO_INTERVAL = "The table’s delta.deletedFileRetentionDuration is “{text}”, which is no interval: Delta can’t tell which files are old."
MEND = "Set it to one first, such as interval 1 week."


@dataclass(frozen=True, slots=True)
class _Tombstones:
    """What the log says: files and bytes that go, the curve `{hours, files, bytes}`, versions that lose a file.

    `exact` is False where no more than that goes: the catalog's totals stand in for a log that is too long for a page, or the retention
    is longer than the table's own and the log doesn't tell when the files were written.
    """

    files: int
    bytes: int | None  # None: unknown, since the log doesn't say how large each file is
    curve: Sequence[Mapping[str, int | None]]
    dying: Sequence[Span]
    exact: bool


def from_log(subject: Subject, command: Vacuum) -> dict[str, Any]:
    """What the log says of a vacuum. Raises CommandRefused: `invalid` with Delta's condition, `unreadable`."""
    own = own_retention(subject)
    if failure := too_short(command.retention_hours, own):
        remedy = "Keep at least as long as the table does, or change its delta.deletedFileRetentionDuration."
        raise CommandRefused(Refusal("invalid", failure.message, remedy=remedy, engine=failure))
    retention = retention_of(command.retention_hours, own)
    reach = TableReach(subject.table, timezone.now())
    window = window_of(reach, retention, own, lite=command.lite)
    if command.retention_hours is not None:
        refuse_below_streams(subject, command.retention_hours, window)
    readable = readable_spans(reach)
    found = _tombstones(subject, window, readable)
    return _values(subject, command, window, readable, found.dying) | {
        "files": found.files,
        "bytes": found.bytes,
        "untracked_files": None,
        "untracked_bytes": None,
        "directories": None,
        "curve": list(found.curve),
        "by_age": [],
        "by_commit": [],
        "sample": [],
        "exact": found.exact,
        "speed": "log",
    }


def with_measure(subject: Subject, command: Vacuum, measure: Deletable) -> dict[str, Any]:
    """The preview that people approve: the worker's plan, with which versions it takes and what needs them."""
    own = own_retention(subject)
    retention = retention_of(command.retention_hours, own)
    reach = TableReach(subject.table, timezone.now())
    window = window_of(reach, retention, own, lite=command.lite)
    readable = readable_spans(reach)
    lost = within(measure.dying, readable)
    return _values(subject, command, window, readable, lost) | {
        "files": measure.files,
        "bytes": measure.bytes,
        "untracked_files": measure.untracked_files,
        "untracked_bytes": measure.untracked_bytes,
        "directories": measure.directories,
        "listed": measure.listed,
        "curve": [dict(row) for row in measure.curve],
        "by_age": [dict(row) for row in measure.by_age],
        "by_commit": [dict(row) for row in measure.by_commit],
        "sample": list(measure.sample),
        "digest": measure.digest,
        "planned_at_ms": measure.planned_at_ms,
        "cut_at": datetime.fromtimestamp(measure.cut_ms / 1000, UTC).isoformat(),
        "exact": not command.lite,
        "speed": "spark",
    }


def _values(
    subject: Subject, command: Vacuum, window: Window, readable: Sequence[Span], lost: Sequence[Span]
) -> dict[str, Any]:
    """What both previews have."""
    own = own_retention(subject)
    retention = retention_of(command.retention_hours, own)
    readers, clones = readers_of(subject, lost, readable), needs_of_clones(subject)
    behind = streams_behind(subject, window)
    reading = [*said_of_streams(behind, certain=window.is_certain), *said_of(readers)]
    cloned = list(said_of_clones(clones))
    needed_by = [*reading, *_undos(subject, lost), *cloned]
    return {
        "class": class_of(retention),
        "lite": command.lite,
        "retention": in_words(retention),
        "own_retention": in_words(own),
        "own_retention_ms": own // MILLISECOND,
        "dying_versions": [list(span) for span in lost],
        "first_readable_after": first_readable_after(readable, lost, subject.version),
        "needed_by": needed_by,
        "in_use": [*reading, *cloned],
        "behind_streams": [str(each.stream.pk) for each in behind],
        "read_by": [str(reader.job.pk) for reader in readers[:MOST_NAMED] if reader.running],
        "asked_by": [str(reader.job.pk) for reader in readers[:MOST_NAMED] if not reader.running],
        "named_clones": [str(need.clone.table.pk) for need in clones[:MOST_NAMED]],
        "table_id": subject.metadata.id,
        "measured_at_version": subject.version,
        "consequences": [
            *consequences_of(
                dying=lost,
                retention=retention,
                own=own,
                lite=command.lite,
                feed=subject.change_feed,
                needed_by=needed_by,
            ),
            *unseen_files_go(subject.other_formats),
        ],
    }


def own_retention(subject: Subject) -> timedelta:
    """The table's `delta.deletedFileRetentionDuration`. Raises CommandRefused `invalid` where it is no interval: Delta fails on it."""
    text = subject.configuration.get(DELETED_FILES)
    if text is not None and parse_interval(text) is None:
        raise CommandRefused(Refusal("invalid", NO_INTERVAL.format(text=text), remedy=MEND))
    return deleted_file_retention(subject.configuration)


# What the log says


def _tombstones(subject: Subject, window: Window, readable: Sequence[Span]) -> _Tombstones:
    log = open_log(subject.table.path)
    try:
        listing = log.listing()
        first = readable[0][0] if readable and window.cut > window.oldest else None
        if _is_long(subject, listing, first):
            return _by_catalog(subject, window, readable)
        changes = read_changes(log.storage, listing, subject.table.path, until=subject.version, additions_after=first)
    except StorageError as error:
        raise CommandRefused(Refusal("unreadable", f"The log can’t be read with certainty: {error}")) from error
    live, _ = live_files(subject.snapshot, subject.table.path)
    removed = newest_tombstones(changes, 0)
    there = pc.and_(
        pc.invert(pc.is_in(removed["key"], value_set=live)), pc.greater_equal(removed["time"], window.vacuumed)
    )
    removed = removed.filter(there)
    gone = removed.filter(pc.less(removed["time"], window.cut))
    lost = [] if first is None else dying(changes, gone["key"].combine_chunks(), first, subject.version)
    # Of files that were removed later, the log doesn't tell whether they were written before.
    sure = pc.all(pc.less(gone["time"], window.asked), min_count=0).as_py()
    return _Tombstones(gone.num_rows, bytes_of(gone), list(_curve(removed, window)), within(lost, readable), exact=sure)


def _is_long(subject: Subject, listing: Listing, first: int | None) -> bool:
    checkpoint = next(iter(listing.checkpoints_until(subject.version)), None)
    base = checkpoint.version if checkpoint else -1
    start = base if first is None else min(base, first)
    size = sum(entry.size for version, entry in listing.commits.items() if version > start)
    size += checkpoint.size_bytes if checkpoint else 0
    return size > MOST_BYTES or (subject.snapshot.num_files or 0) > MOST_FILES


def _hours(window: Window) -> list[int]:
    return sorted({*CURVE, (window.now - window.asked) // HOUR_MS})


def _curve(removed: pa.Table, window: Window) -> Iterator[Mapping[str, int | None]]:
    for hours in _hours(window):
        files = removed.filter(pc.less(removed["time"], window.cut_after(hours)))
        yield {"hours": hours, "files": files.num_rows, "bytes": bytes_of(files)}


def _by_catalog(subject: Subject, window: Window, readable: Sequence[Span]) -> _Tombstones:
    """By the totals of the commits: files that only got a deletion vector, or came back, are counted as well."""
    rows = [removed_before(subject, window, window.cut_after(hours)) for hours in _hours(window)]
    curve = [{"hours": hours, "files": f, "bytes": b} for hours, (f, b) in zip(_hours(window), rows, strict=True)]
    files, num_bytes = removed_before(subject, window, window.cut)
    newest = newest_removal(subject, window)
    lost = [] if newest is None or window.cut <= window.oldest else within([(0, newest - 1)], readable)
    return _Tombstones(files, num_bytes, curve, lost, exact=False)


# What still needs the old files


def _undos(subject: Subject, lost: Sequence[Span]) -> Iterator[str]:
    """Changes of Levee's own that a restore could still undo."""
    jobs = Job.objects.filter(table_id=subject.table.pk, result__operation__in=UNDOABLE)
    done = jobs.filter(state=State.SUCCEEDED, version__isnull=False, version__gt=0).order_by("-version")
    versions = [version for version in done.values_list("version", flat=True)[:1_000] if version is not None]
    undoable = [version for version in versions if is_lost(version - 1, lost)]
    if undoable:
        newest = [*sorted(undoable[:3]), *undoable[3:]]
        named = listed([f"{version:,}" for version in newest], 3)
        yield f"You could no longer undo what Levee committed as version {named}."
