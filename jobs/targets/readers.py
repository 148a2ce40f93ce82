"""The streams that read a table: which of them a change of its rows makes fail, and which may lose what they haven't read yet.

Source: delta-spark 4.4, `DeltaSource.validateCommitAndDecideSkipping`. A commit that removes data files and adds others fails a
streaming read (`DELTA_SOURCE_TABLE_IGNORE_CHANGES`), one that only removes some as well (`DELTA_SOURCE_IGNORE_DELETE`) unless it
reads with `ignoreDeletes`; with `skipChangeCommits` it passes over both. `MetadataCleanup`: a checkpoint that a commit writes lets Delta
remove commits older than `delta.logRetentionDuration`, counted from the start of the day. `checkReadIncompatibleSchemaChanges`: a
commit whose schema has columns that the table's newest one lacks fails a streaming read (`DELTA_SCHEMA_CHANGED_WITH_VERSION`), with
`skipChangeCommits` too, even if it is the last one that the stream has read [run on 4.2.0].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils import timezone

from console.base.text.counted import counted
from jobs.domain.consequences import Consequence, in_words, said
from jobs.models import Stream
from jobs.targets.subject import Subject
from tables.deltalog.rules.retention import log_retention
from tables.models import Commit

T = TypeVar("T")
MOST = 20
CLEANUP = "delta.enableExpiredLogCleanup"


@dataclass(frozen=True, slots=True)
class CommitChange:
    """What a commit does with data files, and whether it changes the schema. `adds` is None where only the run can tell."""

    removes: bool
    adds: bool | None
    reshapes: bool = False


def with_readers(preview: Mapping[str, Any], subject: Subject, change: CommitChange) -> dict[str, Any]:
    """A preview with the consequences for the streams that read the table, as part of what people approve. Two queries at most."""
    readers = list(
        Stream.objects.filter(source_table_id=subject.table.pk, removed_at=None)
        .select_related("table")
        .order_by("name")
    )
    consequences = [*_failing(readers, change), *_reshaped(readers, change), *_outdated(readers, subject)]
    return {**preview, "consequences": [*preview["consequences"], *consequences]}


def named(code: str, items: Iterable[T], sentence: Callable[[T], str], rest: Callable[[int], str]) -> list[Consequence]:
    """A consequence for each stream, or whatever it is about; at most MOST by name, the rest as a number."""
    found = list(items)
    by_name = [said(code, sentence(each)) for each in found[:MOST]]
    return [*by_name, said(code, rest(len(found) - MOST))] if len(found) > MOST else by_name


# Streams that meet the commit


def _failing(readers: Iterable[Stream], change: CommitChange) -> list[Consequence]:
    if not change.removes:
        return []
    certain = [stream for stream in readers if _fails_surely(stream, change)]
    spared = [stream for stream in readers if _meets(stream) and stream not in certain]
    unsure = spared if change.adds is None else []
    return [
        *named(
            "fails_stream",
            certain,
            _fails,
            lambda more: (
                f"{counted(more, 'more stream that reads this table fails', 'more streams that read this table fail')} as well."
            ),
        ),
        *named("may_fail_stream", unsure, _may_fail, lambda more: f"{more:,} more such streams may fail as well."),
    ]


def _fails_surely(stream: Stream, change: CommitChange) -> bool:
    return change.removes and _meets(stream) and not (_ignores_deletes(stream) and change.adds is not True)


def _reshaped(readers: Iterable[Stream], change: CommitChange) -> list[Consequence]:
    """Streams that a change of the schema may fail, whatever commits they pass over, beside those that fail for sure."""
    if not change.reshapes:
        return []
    streams = [stream for stream in readers if reads_commits(stream) and not _fails_surely(stream, change)]
    return named(
        "may_fail_stream",
        streams,
        _may_not_follow,
        lambda more: f"{counted(more, 'more stream')} may fail by the schema as well.",
    )


def _meets(stream: Stream) -> bool:
    """A query that has begun meets the commit; one that hasn't reads the table as it is by then, or from a version before it."""
    return not stream.definition["source"].get("skip_change_commits") and reads_commits(stream)


def reads_commits(stream: Stream) -> bool:
    """Whether the stream reads this commit or one before it as a commit."""
    source = stream.definition["source"]
    starts_later = source.get("starting_version") is None and not source.get("starting_timestamp")
    return stream.query_id is not None or not starts_later


def _ignores_deletes(stream: Stream) -> bool:
    options = stream.definition["source"].get("options") or {}
    return str(options.get("ignoreDeletes", "")).strip().lower() == "true"


def _fails(stream: Stream) -> str:
    reads, meets = "without skipChangeCommits", "removes rows"
    if _ignores_deletes(stream):
        reads, meets = "with ignoreDeletes", "adds files beside those that it removes"
    return (
        f"The stream {stream.name} into {stream.table.name} reads this table {reads}: its next round fails on a commit that {meets},"
        " and stays there until you change the stream or reset its checkpoint."
    )


def _may_fail(stream: Stream) -> str:
    return (
        f"The stream {stream.name} into {stream.table.name} reads this table with ignoreDeletes, which passes over a commit only if"
        " it removes whole files and adds none. Whether this one adds files shows when it runs; if it does, the stream’s next"
        " round fails and stays there until you change the stream or reset its checkpoint."
    )


def _may_not_follow(stream: Stream) -> str:
    return (
        f"The stream {stream.name} into {stream.table.name} reads this table, whose schema changes. A stream can’t read a commit whose"
        " columns the new schema lacks, and its steps and its target may not fit the new columns: its next round may then fail and"
        " stays there until this table has its schema again, or you change the stream or reset its checkpoint."
    )


# Streams that are so far behind that the log may be cleaned up before them


def _outdated(readers: Iterable[Stream], subject: Subject) -> list[Consequence]:
    if subject.configuration.get(CLEANUP, "true").strip().lower() == "false":
        return []
    behind = {stream.pk: version for stream in readers if (version := next_version(stream)) is not None}
    old = _old_commits(subject, set(behind.values())) if behind else {}
    kept = in_words(log_retention(subject.configuration))

    def sentence(stream: Stream) -> str:
        version = behind[stream.pk]
        return (
            f"The stream {stream.name} into {stream.table.name} hasn’t read version {version:,} of this table yet, which was"
            f" committed on {old[version]:%Y-%m-%d}; the log keeps versions for {kept}. The commit of this change may write a"
            " checkpoint, and then Delta removes older ones. The stream’s next round fails if its version is gone, until you reset"
            " its checkpoint: run the stream first."
        )

    outdated = [stream for stream in readers if behind.get(stream.pk) in old]
    return named(
        "outdates_stream",
        outdated,
        sentence,
        lambda more: f"{counted(more, 'more stream is', 'more streams are')} as far behind this table’s log.",
    )


def next_version(stream: Stream) -> int | None:
    """The version that the next round reads first; None if it takes the table as it is by then, or if that isn't known."""
    if stream.query_id is not None:
        return stream.reads_from
    version: int | None = stream.definition["source"].get("starting_version")
    return version


def still_to_read(subject: Subject, last: int) -> list[str]:
    """The streams that have yet to read versions up to `last`, which a change takes away, each in a sentence; MOST at most by name."""
    readers = (
        Stream.objects.filter(source_table_id=subject.table.pk, removed_at=None)
        .select_related("table")
        .order_by("name")
    )
    found = [(stream, next_version(stream)) for stream in readers]
    behind = [(stream, version) for stream, version in found if version is not None and version <= last]
    texts = [
        f"The stream {stream.name} into {stream.table.name} still has to read version {version:,} of this table, which this gives up: run"
        " the stream first, or its next round may fail."
        for stream, version in behind[:MOST]
    ]
    more = len(behind) - MOST
    return (
        [*texts, f"{counted(more, 'more stream still has', 'more streams still have')} to read such versions."]
        if more > 0
        else texts
    )


def read_by(subject: Subject) -> list[str]:
    """The names of the streams that read the table; beyond MOST, how many more."""
    return _names(Stream.objects.filter(source_table_id=subject.table.pk, removed_at=None))


def written_by(subject: Subject, queries: Iterable[str] | None = None) -> list[str]:
    """The same of those that write into it: those with one of these query ids, or all."""
    streams = Stream.objects.filter(table_id=subject.table.pk, removed_at=None)
    return _names(streams if queries is None else streams.filter(query_id__in=list(queries)))


def _names(streams: QuerySet[Stream]) -> list[str]:
    names = list(streams.order_by("name").values_list("name", flat=True))
    return names if len(names) <= MOST else [*names[:MOST], f"{len(names) - MOST:,} more"]


def _old_commits(subject: Subject, versions: set[int]) -> dict[int, datetime]:
    """Those of the versions that are still in the log and old enough for Delta to remove, with the times of their commits."""
    table = subject.table
    cutoff = timezone.now() - log_retention(subject.configuration)
    cutoff = cutoff.replace(hour=0, minute=0, second=0, microsecond=0)
    commits = Commit.objects.filter(
        table=table, incarnation=table.incarnation, version__in=versions, version__gte=table.first_version or 0,
        committed_at__lt=cutoff,
    )  # fmt: skip
    return {version: at for version, at in commits.values_list("version", "committed_at") if at is not None}
