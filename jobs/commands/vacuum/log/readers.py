"""Who reads a version that a vacuum takes: what its preview says of them, and who has come since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db.models import Max
from django.utils import timezone

from jobs.models import Attempt, Job
from jobs.targets.subject import Subject
from jobs.targets.version_readers import (
    VersionReader,
    reading_now,
    requested_since,
    shallow_clones_since,
    version_readers,
)
from tables.deltalog.vacuum.versions import Span
from tables.history.reachability import TableReach

MOST_NAMED = 20
READS = "Since the preview {name} has begun to read version {version:,}, whose files would go. Request it again once that has ended."
MADE = (
    "Since the preview {name} has made a table of version {version:,}, which needs files that would go."
    " Request it again: its preview names that table."
)
ASKED = (
    "Since the preview {name} has come, which needs version {version:,}, whose files would go. Request it again once that has ended, or"
    " now: its preview names that request."
)


def readable_spans(reach: TableReach) -> list[Span]:
    """The versions that can be read and restored now, oldest first."""
    return [(span.first, span.last) for span in reach.spans if span.restorable]


def is_lost(version: int, lost: Sequence[Span]) -> bool:
    """Whether one of the spans holds the version."""
    return any(first <= version <= last for first, last in lost)


def readers_of(subject: Subject, lost: Sequence[Span], readable: Sequence[Span]) -> list[VersionReader]:
    """The jobs that need a version which the vacuum takes, those that read it now first.

    One that is running may read a version that Delta itself no longer opens, since its time ended meanwhile: its files go as well.
    """
    gone = [*lost, *_expired(readable, subject.version)]
    return [each for each in version_readers(subject.table) if is_lost(each.version, gone if each.running else lost)]


def said_of(readers: Sequence[VersionReader]) -> Iterator[str]:
    """A sentence on each for those who approve the vacuum; beyond MOST_NAMED, how many more there are at least."""
    for reader in readers[:MOST_NAMED]:
        name = f"{reader.name[:1].upper()}{reader.name[1:]}"
        if reader.running:
            yield f"{name} is reading version {reader.version:,} now: it would fail, or make a table that can’t be read."
        else:
            yield f"{name} needs version {reader.version:,}: it would fail."
    if (more := len(readers) - MOST_NAMED) > 0:
        yield f"At least {more:,} more {'request needs' if more == 1 else 'requests need'} such versions: they would fail."


def reads_meanwhile(subject: Subject, job: Job) -> str:
    """Why the previewed vacuum may not run: somebody reads a version that it takes, has made a shallow clone of one, or has requested
    what needs one, whom the preview didn't name as doing so. Empty if nobody does or has."""
    preview = job.preview or {}
    seen, clones, since = preview.get("read_by", ()), preview.get("named_clones", ()), _previewed_at(job)
    # In this order: a clone that begins, or ends, between two of the questions is found by the next.
    asked = [
        each for each in requested_since(subject.table, since) if str(each.job.pk) not in preview.get("asked_by", ())
    ]
    reading = [each for each in reading_now(subject.table) if str(each.job.pk) not in seen]
    made = shallow_clones_since(subject.table, since)
    made = [each for each in made if str(each.job.pk) not in seen and str(each.job.table_id) not in clones]
    if not (asked or reading or made):
        return ""
    lost = [(first, last) for first, last in preview.get("dying_versions", ())]
    gone = [*lost, *_expired(readable_spans(TableReach(subject.table, timezone.now())), subject.version)]
    groups = ((READS, reading, gone), (MADE, made, gone), (ASKED, asked, lost))
    said = (
        text.format(name=e.name, version=e.version)
        for text, each, those in groups
        for e in each
        if is_lost(e.version, those)
    )
    return next(said, "")


def _previewed_at(job: Job) -> datetime:
    """When its last preview began, by the database's clock, as ends of jobs are; what ended while it was made counts as since."""
    began = job.attempts.filter(kind=Attempt.Kind.PREVIEW).aggregate(at=Max("claimed_at"))["at"]
    return began or job.requested_at


def _expired(readable: Sequence[Span], head: int) -> Iterator[Span]:
    """The versions between and before those that can be read; all of them if none can."""
    if not readable:
        yield 0, head
    first = 0
    for start, end in readable:
        if first < start:
            yield first, start - 1
        first = end + 1
