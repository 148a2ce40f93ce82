"""Which streams a person may see and run: every query of streams begins here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db.models import Case, OuterRef, Q, QuerySet, Subquery, When
from django.http import Http404

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import Stream, StreamBatch, StreamRound


def visible_to(person: Person) -> QuerySet[Stream]:
    """The streams into tables that the person may see; removed ones aside."""
    scopes = person.scopes(Permission.TABLE_READ)
    streams = Stream.objects.filter(removed_at=None).select_related("table", "source_table", "run_by", "created_by")
    if scopes.everything:
        return streams
    return streams.filter(Q(table__root_id__in=scopes.roots) | Q(table_id__in=scopes.tables))


def touching(person: Person, table_id: uuid.UUID | None) -> QuerySet[Stream]:
    """Those of the streams that a person sees which write a table or read its commits; all of them without a table."""
    streams = visible_to(person)
    return streams.filter(Q(table_id=table_id) | Q(source_table_id=table_id)) if table_id else streams


def stream_for(person: Person, stream_id: uuid.UUID) -> Stream:
    """One stream. Raises Http404 if the person may not see it."""
    stream = visible_to(person).filter(pk=stream_id).first()
    if stream is None:
        raise Http404
    return stream


def matching(streams: QuerySet[Stream], text: str) -> QuerySet[Stream]:
    """Those whose name, target or source holds the text."""
    own = Q(name__icontains=text) | Q(definition__source__path__icontains=text)
    return streams.filter(own | Q(table__name__icontains=text) | Q(source_table__name__icontains=text))


def source_of(stream: Stream) -> str:
    """The source as lists name it: a table's name, or a directory."""
    return stream.source_table.name if stream.source_table else str(stream.definition["source"]["path"])


ON_HOME = 8
RANK = Case(When(state=Stream.State.FAILED, then=0), When(state=Stream.State.STOPPED, then=2), default=1)
SHOWN = ("name", "state", "state_text", "state_at", "rounds", "reason", "table__name")


def on_home(person: Person) -> list[Stream]:
    """The streams that run or failed, failed ones first; then those that nobody has started yet. With what home shows of each."""
    streams = visible_to(person).exclude(state=Stream.State.STOPPED, rounds__gt=0)
    shown = streams.select_related(None).select_related("table").only(*SHOWN)
    return list(shown.annotate(rank=RANK).order_by("rank", "name")[:ON_HOME])


def count_failed(person: Person, listed: Iterable[Stream]) -> int:
    """How many of the streams that the person sees have failed; no query unless all that `on_home` lists have."""
    failed = sum(stream.state == Stream.State.FAILED for stream in listed)
    return failed if failed < ON_HOME else visible_to(person).filter(state=Stream.State.FAILED).count()


def may_run(person: Person, stream: Stream) -> bool:
    """Whether the person may start, stop and change the stream: as an operator of its table."""
    return person.scopes(Permission.JOB_REQUEST).covers_table(stream.table.root_id, stream.table_id)


def last_batches(streams: Iterable[Stream]) -> dict[uuid.UUID, StreamBatch]:
    """The newest micro-batch of each stream; one query."""
    ids = [stream.pk for stream in streams]
    newest = StreamBatch.objects.filter(stream=OuterRef("pk")).order_by("-id").values("id")[:1]
    wanted = Stream.objects.filter(pk__in=ids).annotate(newest=Subquery(newest)).values("newest")
    return {batch.stream_id: batch for batch in StreamBatch.objects.filter(pk__in=wanted)}


def open_jobs(streams: Iterable[Stream]) -> dict[uuid.UUID, uuid.UUID]:
    """The job of each stream's open round; one query."""
    ids = [stream.pk for stream in streams]
    return dict(StreamRound.objects.filter(stream__in=ids, booked_at=None).values_list("stream_id", "job_id"))
