"""What a restore does to the streams that write the table or read it, and what earlier restores have done to a stream's batches.

A restore brings files back, and leaves the log's transactions as they are: a query's checkpoint and the table's `txn` stay past the
batches whose rows are gone, so neither Spark nor Delta loads them again (delta-spark 4.4.0, RestoreTableCommand, DeltaSink).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, Q

from console.base.text.counted import counted
from jobs.domain.consequences import Consequence
from jobs.models import Stream
from jobs.targets.lineage import Span, lineage, restores_of
from jobs.targets.readers import CommitChange, named, reads_commits
from jobs.targets.subject import Subject
from tables.history.queries import STREAMING
from tables.models import Commit, Table

COMPLETE = "complete"  # a definition’s output mode
QUERY_ID = "operation_parameters__queryId"


@dataclass(frozen=True, slots=True)
class Undone:
    """Batches of one query whose commits are undone: how many, and their first and last version; `kept` says that others stay."""

    query_id: str
    batches: int
    first: int
    last: int
    kept: bool

    @property
    def what(self) -> str:
        if self.batches == 1:
            return f"a batch (version {self.first:,})"
        return f"{counted(self.batches, 'batch', 'batches')} (versions {self.first:,} to {self.last:,})"

    @property
    def again(self) -> str:
        """What a reset does, after the restore, to the rows that stay."""
        if self.kept:
            return "it then reads its source from its start, so rows of the batches that stay are loaded twice in Append mode"
        return "it then reads its source from its start; none of its batches stays, so nothing comes twice"


def with_streams(preview: Mapping[str, Any], subject: Subject, version: int, change: CommitChange) -> dict[str, Any]:
    """A restore's preview with what it does to streams beyond failing them."""
    found = [*_writers(subject, version), *_readers(subject, change)]
    return {**preview, "consequences": [*preview["consequences"], *found]}


# Streams into the table


def _writers(subject: Subject, version: int) -> list[Consequence]:
    undone = _undone_by(subject.table, subject.version, version)
    streams = Stream.objects.filter(
        table=subject.table, query_id__in=[each.query_id for each in undone], removed_at=None
    )
    by_query = {stream.query_id: stream for stream in streams}
    return named(
        "undoes_batches",
        undone,
        lambda each: _sentence(each, by_query.get(each.query_id)),
        lambda more: f"It undoes batches of {more:,} more {'query' if more == 1 else 'queries'}.",
    )


def _sentence(undone: Undone, stream: Stream | None) -> str:
    if stream is None:
        return (
            f"This undoes {undone.what} of the streaming query {undone.query_id}, which isn’t one of Levee’s streams: its checkpoint is"
            " past them, so it doesn’t load their rows again unless it begins with a new checkpoint."
        )
    if stream.definition["output_mode"] == COMPLETE:
        return (
            f"This undoes {undone.what} of the stream {stream.name}, whose checkpoint keeps its counts: its next batch with new rows"
            " replaces all rows by them."
        )
    return (
        f"This undoes {undone.what} of the stream {stream.name}, and its next round doesn’t load their rows again: its checkpoint is past"
        f" them. To load them again, reset the stream after the restore: {undone.again}."
    )


def _undone_by(table: Table, head: int, version: int) -> list[Undone]:
    """The queries whose batches the table has now and wouldn't have after the restore."""
    restores = restores_of(table)
    if restores is None:
        return []
    now, then = lineage(head, restores), lineage(version, restores)
    return _counted(table, _within(now) & ~_within(then), _within(then))


def undone_batches(stream: Stream) -> Undone | None:
    """The batches of the stream's query that restores of its table have undone and not brought back; None for none, or unknown."""
    table = stream.table
    if stream.query_id is None or table.version is None or not (restores := restores_of(table)):
        return None
    kept = _within(lineage(table.version, restores))
    found = [each for each in _counted(table, ~kept, kept) if each.query_id == stream.query_id]
    return found[0] if found else None


def _counted(table: Table, gone: Q, kept: Q) -> list[Undone]:
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation, operation=STREAMING).order_by()
    rows = commits.filter(gone).values_list(QUERY_ID).annotate(Count("version"), Min("version"), Max("version"))
    found = [(query, *counts) for query, *counts in rows.order_by(QUERY_ID) if query]
    staying = set(commits.filter(kept).values_list(QUERY_ID, flat=True).distinct()) if found else set()
    return [Undone(query, count, first, last, query in staying) for query, count, first, last in found]


def _within(spans: Sequence[Span]) -> Q:
    condition = Q(pk__in=[])
    for first, last in spans:
        condition |= Q(version__gte=first, version__lte=last)
    return condition


# Streams that read it


def _readers(subject: Subject, change: CommitChange) -> list[Consequence]:
    streams = (
        Stream.objects.filter(source_table=subject.table, removed_at=None).select_related("table").order_by("name")
    )
    readers = [stream for stream in streams if reads_commits(stream)]
    if change.removes:
        passing = [stream for stream in readers if stream.definition["source"].get("skip_change_commits")]
        return named("passed_over", passing, _passes, _rest)
    return named("doubles_rows", readers, _doubles, _rest) if change.adds else []


def _rest(more: int) -> str:
    return f"The same is true of {more:,} more {'stream' if more == 1 else 'streams'} of those that read this table."


def _passes(stream: Stream) -> str:
    return (
        f"The stream {stream.name} into {stream.table.name} passes over the restore (skipChangeCommits): its table keeps rows that go here,"
        " and doesn’t get those that come back."
    )


def _doubles(stream: Stream) -> str:
    return (
        f"The stream {stream.name} into {stream.table.name} reads the files that come back as new ones, and loads"
        " their rows once more."
    )
