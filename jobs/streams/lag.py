"""How far a stream is behind its source: the files or versions that it hasn't read, and how long the oldest has waited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from jobs.commands.stream_round.rules import Definition, TableSource
from jobs.models import Stream, StreamLag
from jobs.streams import file_listing
from jobs.streams.looks import Looks
from tables.models import Commit
from tables.sync import log_access

query_id = file_listing.query_id
LOOKS = Looks(most=32, seconds=5.0)  # the dispatcher's


@dataclass(frozen=True, slots=True)
class Lag:
    """`waiting` files or versions (`unit`), of which `oldest` has waited longest (None: unknown). `exact` False: at least so many.

    `too_old` files are more than a week older than the newest one that was taken: Spark's file source never takes them.
    """

    waiting: int
    unit: str
    oldest: datetime | None
    exact: bool = True
    too_old: int = 0

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "oldest": self.oldest.isoformat() if self.oldest else None}


def measure(stream: Stream) -> Lag | None:
    """The lag now, from the source's directory or log and the query's checkpoint; None if it can't be known."""
    definition = Definition.from_json(stream.definition)
    if isinstance(definition.source, TableSource):
        return _versions(stream, definition.source)
    files = file_listing.waiting_files(definition.source, stream.checkpoint)
    return Lag(files.files, "file", files.oldest, files.complete, files.too_old) if files else None


def begin(streams: Iterable[Stream]) -> None:
    """Begins to measure these at once: sources that don't answer are then waited for together."""
    for stream in streams:
        LOOKS.begin(stream.pk, partial(measure, stream))


def measured(stream: Stream) -> Lag | None:
    """As `measure`, within the time limit. Raises NoAnswer, NoPlace."""
    answer: Lag | None = LOOKS.answer(stream.pk, partial(measure, stream))
    return answer


@dataclass(frozen=True, slots=True)
class Position:
    """What a checkpoint tells: its query's id, and the version of a source table that the query reads next. None is unknown."""

    query_id: str | None = None
    reads_from: int | None = None


def note(stream: Stream, measured_now: Lag | None) -> None:
    """Keeps a measure for the drawing of the lag over time: of each minute the most that waited, and None only if nothing else was told."""
    minute = timezone.now().replace(second=0, microsecond=0)
    waiting, exact = (None, True) if measured_now is None else (measured_now.waiting, measured_now.exact)
    row = StreamLag(stream=stream, at=minute, waiting=waiting, exact=exact)
    StreamLag.objects.bulk_create([row], ignore_conflicts=True)
    if waiting is not None:
        less = Q(waiting=None) | Q(waiting__lt=waiting)
        StreamLag.objects.filter(less, stream=stream, at=minute).update(waiting=waiting, exact=exact)


def begin_positions(streams: Iterable[Stream]) -> None:
    """Begins to read these checkpoints at once."""
    for stream in streams:
        LOOKS.begin(("position", stream.pk), partial(_position, stream))


def position(stream: Stream) -> Position:
    """What the stream's checkpoint tells, within the time limit. Raises NoAnswer, NoPlace."""
    answer: Position = LOOKS.answer(("position", stream.pk), partial(_position, stream))
    return answer


def _position(stream: Stream) -> Position:
    reads_table = "table_id" in stream.definition["source"]
    from_version = file_listing.next_version(stream.checkpoint) if reads_table else None
    return Position(query_id(stream.checkpoint), from_version)


def _versions(stream: Stream, source: TableSource) -> Lag | None:
    head = log_access.head_version(source.path, stream.source_table.version if stream.source_table else None)
    if head is None:
        return None
    waiting = file_listing.waiting_versions(stream.checkpoint, head)
    if waiting is None:
        return None
    current = Commit.objects.filter(table_id=source.table, incarnation=F("table__incarnation"))
    oldest = current.filter(version=head - waiting + 1)
    return Lag(waiting, "version", oldest.values_list("committed_at", flat=True).first() if waiting else None)
