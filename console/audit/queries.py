"""Queries of the audit for pages, API and export. An auditor sees everything, others the events of tables that they may see."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import ObjectKind
from console.audit.models import Event, Seal
from console.audit.ports import tables_called, tables_within
from console.audit.searching import NEWEST, with_words, word_page
from console.base.pagination import OrderKey, Page, page
from console.base.text.short_ids import begins_an_id, ids_from

FEW_TABLES = 500  # so many can be named one by one, which lets the database reckon with their events


def visible_to(person: Person) -> QuerySet[Event]:
    """The events that the person may read."""
    audit = person.scopes(Permission.AUDIT_READ)
    if audit.everything:
        return Event.objects.all()
    reads = person.scopes(Permission.TABLE_READ)
    if reads.everything:
        return Event.objects.filter(table_id__isnull=False)
    ids = tables_within(*((reads, audit) if reads else ()))
    few = list(ids[: FEW_TABLES + 1])
    return Event.objects.filter(table_id__in=few if len(few) <= FEW_TABLES else ids)


def sees_origins(person: Person) -> bool:
    """Whether this person may see the addresses and sessions of others: as an auditor of everything."""
    return person.scopes(Permission.AUDIT_READ).everything


def event_for(person: Person, event_id: uuid.UUID) -> Event:
    """One event with its link. Raises Http404 if the person can't see it."""
    event = visible_to(person).select_related("seal").filter(pk=event_id).first()
    if event is None:
        raise Http404
    return event


@dataclass(frozen=True, slots=True)
class EventFilter:
    """How events are narrowed; empty texts narrow nothing.

    `actor` is a name or a person's id; `object` is `kind:id`, an id, or a name; of a table it finds all that
    happened to it, its jobs too; `table` is an id, a name or a path; `q` are words
    of the reason, as in a search engine. A job's id may be as short as pages show it.
    """

    actor: str = ""
    action: str = ""
    object: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None
    table: str = ""
    job: str = ""
    q: str = ""

    def given(self) -> dict[str, str]:
        """What was asked for, as texts."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: value.isoformat() if isinstance(value, datetime) else str(value)
            for name, value in values.items()
            if value
        }

    def apply(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """The events that it leaves."""
        left = self.without_words(events)
        return with_words(left, self.q) if self.q else left

    def without_words(self, events: QuerySet[Event]) -> QuerySet[Event]:
        """The events that all of it but `q` leaves."""
        return events.filter(_when(self) & _who(self.actor) & _what(self))


def _when(wanted: EventFilter) -> Q:
    since = Q(at__gte=wanted.since) if wanted.since else Q()
    return since & Q(at__lt=wanted.until) if wanted.until else since


def _who(text: str) -> Q:
    if not text:
        return Q()
    known = uuid_of(text) or Person.objects.filter(name__iexact=text).values_list("pk", flat=True).first()
    return Q(actor_id=known) if known else Q(actor_name=text)


def _what(wanted: EventFilter) -> Q:
    condition = Q(action=wanted.action) if wanted.action else Q()
    if wanted.outcome:
        condition &= Q(outcome=wanted.outcome)
    if wanted.job:
        condition &= _of_job(wanted.job)
    if wanted.table:
        condition &= Q(table_id__in=_table_ids(wanted.table))
    return condition & _object(wanted.object)


def _object(text: str) -> Q:
    if not text:
        return Q()
    kind, colon, name = text.partition(":")
    if colon and kind == ObjectKind.TABLE:
        return _of_tables(tables_called(name)) | Q(object_kind=kind, object_id=name)
    if colon and kind == ObjectKind.JOB and begins_an_id(name):
        return Q(object_kind=kind) & _of_job(name)
    if colon and kind in ObjectKind.values:
        return Q(object_kind=kind, object_id=name)
    own = Q(object_id=str(known)) if (known := uuid_of(text)) else Q(object_name=text)
    if begins_an_id(text):  # of a job, as pages show it; also a name could look so
        own |= Q(object_kind=ObjectKind.JOB) & _of_job(text)
    return own | _of_tables(tables_called(text))


def _of_job(beginning: str) -> Q:
    span = ids_from(beginning)
    return Q(job__range=span) if span else Q(pk__in=())


def _of_tables(tables: Sequence[uuid.UUID]) -> Q:
    """What happened to tables is about their jobs, streams and rows too: the database writes the table into each of those events."""
    return Q(table_id__in=tables) if tables else Q()


def _table_ids(text: str) -> Sequence[uuid.UUID]:
    """The ids of the tables that are meant; one that nothing has where none is. An id may be that of a table that is gone."""
    return [known] if (known := uuid_of(text)) else tables_called(text) or [uuid.UUID(int=0)]


def uuid_of(text: str) -> uuid.UUID | None:
    """The text as an id; None when it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def event_page(
    person: Person, wanted: EventFilter, limit: int, cursor: str = "", order: tuple[OrderKey, OrderKey] = NEWEST
) -> Page[Event]:
    """Events, newest first unless told, each with its link. Two queries: the links are looked up of the page alone.

    A search for words is answered newest first, whatever the order.
    """
    events = wanted.without_words(visible_to(person))
    one_page = word_page(events, wanted.q, limit, cursor) if wanted.q else page(events, order, limit, cursor)
    links = Seal.objects.in_bulk([event.pk for event in one_page.rows], field_name="event_id")
    for event in one_page.rows:
        Event._meta.get_field("seal").set_cached_value(event, links.get(event.pk))
    return one_page


def of_job(person: Person, job: uuid.UUID, limit: int = 500) -> list[Event]:
    """The events of a job, oldest first."""
    return list(visible_to(person).filter(job=job).select_related("seal").order_by("at", "id")[:limit])


def refused_lately(person: Person, most: int = 10_000) -> int:
    """How many acts were refused in the last 7 days; counting ends at `most`."""
    since = timezone.now() - timedelta(days=7)
    return visible_to(person).filter(outcome="refused", at__gte=since).order_by()[:most].count()
