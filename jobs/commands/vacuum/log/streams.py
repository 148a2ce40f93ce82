"""Streams that have yet to read commits whose removed files a vacuum deletes: at its preview, and those that came since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Min

from console.base.text.counted import counted
from jobs.commands.vacuum.log.removals import Window, newest_removal, removals, window_of
from jobs.commands.vacuum.rules import HOUR_MS, Vacuum, retention_of
from jobs.domain.errors import CommandRefused, Refusal
from jobs.models import Job, Stream
from jobs.targets.readers import next_version
from jobs.targets.subject import Subject
from tables.history.reachability import TableReach
from tables.models import Commit

MOST_NAMED = 20
CAME = (
    "Since the preview the stream {stream} into {target} has come to need files that would go: it still has to read version {version:,},"
    " and version {last:,} removed some. Run the stream first, or request the vacuum again: its preview names the stream."
)


@dataclass(frozen=True, slots=True)
class Behind:
    """A stream that reads `version` next; version `last`, which is no older, is the newest that removed files which go."""

    stream: Stream
    version: int
    last: int


def streams_behind(subject: Subject, window: Window) -> list[Behind]:
    """Those that are behind a commit whose removed files go, by name. Streams read the log's commits, however old they are."""
    last = newest_removal(subject, window)
    return [] if last is None else _behind(subject, last)


def _behind(subject: Subject, last: int) -> list[Behind]:
    streams = Stream.objects.filter(source_table_id=subject.table.pk, removed_at=None).select_related("table")
    positions = [(stream, _position(stream, subject)) for stream in streams.order_by("name")]
    return [Behind(each, version, last) for each, version in positions if version is not None and version <= last]


def _position(stream: Stream, subject: Subject) -> int | None:
    """The version that it reads next. One that has yet to begin, from a time, begins with the first commit at or after that."""
    start = stream.definition["source"].get("starting_timestamp")
    if stream.query_id is not None or not start:
        return next_version(stream)
    table = subject.table
    later = Commit.objects.filter(table=table, incarnation=table.incarnation, committed_at__gte=_time(start))
    first: int | None = later.aggregate(first=Min("version"))["first"]
    return first


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def said_of_streams(behind: Sequence[Behind], *, certain: bool) -> Iterator[str]:
    """A sentence on each for those who approve the vacuum; beyond MOST_NAMED, how many more. `certain`: the files surely go."""
    deletes = "deletes" if certain else "may delete"
    for each in behind[:MOST_NAMED]:
        yield (
            f"The stream {each.stream.name} into {each.stream.table.name} still has to read version {each.version:,} of this table, and the"
            f" vacuum {deletes} files that version {each.last:,} removed: run the stream first, or its next round may fail."
        )
    if more := max(0, len(behind) - MOST_NAMED):
        yield f"{more:,} more {'stream still has' if more == 1 else 'streams still have'} to read such versions."


def refuse_below_streams(subject: Subject, hours: int, window: Window) -> None:
    """Raises CommandRefused `invalid` if a stream still needs files that the given hours surely don't keep."""
    sure = window.certain()
    if not (behind := streams_behind(subject, sure)):
        return
    first = min(behind, key=lambda each: each.version)
    more = "" if len(behind) == 1 else f" and {counted(len(behind) - 1, 'more stream')}"
    text = (
        f"The stream {first.stream.name} into {first.stream.table.name}{more} still has to read version {first.version:,} of this table,"
        f" and a vacuum that keeps {hours:,} {'hour' if hours == 1 else 'hours'} deletes files that version {first.last:,} removed."
    )
    needed = (
        removals(subject, sure, sure.cut).filter(version__gte=first.version).aggregate(at=Min("committed_at"))["at"]
    )
    enough = -(-(window.now - int(needed.timestamp() * 1000)) // HOUR_MS)
    remedy = f"Run the stream first, or remove it; or keep at least {counted(enough, 'hour')}."
    if not window.keeps_by(enough):
        remedy = "Run the stream first, or remove it; or keep more hours than these files are old."
    raise CommandRefused(Refusal("invalid", text, remedy=remedy))


def streams_meanwhile(subject: Subject, job: Job, command: Vacuum) -> str:
    """Why the previewed vacuum may not run, if a stream has come to need its files whom the preview didn't name; empty if none has."""
    preview = job.preview or {}
    if "planned_at_ms" not in preview:
        return ""
    own = timedelta(milliseconds=int(preview["own_retention_ms"]))
    planned_at = datetime.fromtimestamp(int(preview["planned_at_ms"]) / 1000, UTC)
    retention = retention_of(command.retention_hours, own)
    window = window_of(TableReach(subject.table, planned_at), retention, own, lite=command.lite)
    # What was removed since the preview stays.
    last = newest_removal(subject, window, int(preview["measured_at_version"]))
    seen = preview.get("behind_streams", ())
    new = [each for each in _behind(subject, last) if str(each.stream.pk) not in seen] if last is not None else []
    return (
        CAME.format(stream=new[0].stream.name, target=new[0].stream.table.name, version=new[0].version, last=last)
        if new
        else ""
    )
