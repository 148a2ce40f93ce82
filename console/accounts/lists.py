"""How people have their lists: columns, order and page size of each, and filters that they gave a name.

It is comfort, not security: nothing of it is an event of the audit. Everybody reads and changes their own alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db import IntegrityError, transaction
from django.http import Http404, QueryDict

from console.accounts.kept_lists import NAME_LENGTH, QUERY_LENGTH, ListPreference, SavedFilter
from console.accounts.models import Person
from console.base.errors import Problem
from console.base.pagination import NOT_STORED

SIZES = (25, 50, 100, 200)
USUAL_SIZE = 50
MOST_FILTERS = 50  # of a person
_MOST_FIELDS = 200


@dataclass(frozen=True, slots=True)
class ListKind:
    """A list that people may arrange. `filters` are the parameters of its address that narrow it.

    `columns` are those that can be left out, by name and heading; `orders` those that it can be read in. `address` names its URL;
    empty for a list that each table has.
    """

    name: str
    title: str
    filters: frozenset[str]
    address: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    orders: tuple[tuple[str, str], ...] = ()

    def narrowing(self, query: str) -> str:
        """What of an address's query narrows the list, in an order of its own: two addresses of one filter read alike."""
        try:
            pairs = parse_qsl(query.removeprefix("?"), max_num_fields=_MOST_FIELDS)
        except ValueError:  # too many
            return ""
        return urlencode(sorted({(name, value) for name, value in pairs if name in self.filters}))


@dataclass(frozen=True)
class KeptList:
    """A list as its person has it, for its query and its page."""

    kind: ListKind
    columns: frozenset[str]
    order: str  # empty: the list's own
    rows: int
    saved: Sequence[SavedFilter]
    query: str  # what narrows the list now

    @cached_property
    def chips(self) -> list[dict[str, Any]]:
        """The saved filters as links, the pinned ones first."""
        return [{"filter": each, "url": f"?{each.query}", "current": each.query == self.query} for each in self.saved]

    @cached_property
    def column_choices(self) -> list[dict[str, Any]]:
        return [{"name": n, "text": text, "checked": n in self.columns} for n, text in self.kind.columns]

    @cached_property
    def sizes(self) -> list[dict[str, Any]]:
        return [{"value": size, "checked": size == self.rows} for size in SIZES]

    def order_asked(self, asked: QueryDict, usual: str) -> str:
        """The order that the address asks for, else the person's own, else `usual`; an order that the list hasn't counts for nothing."""
        known = {name for name, _ in self.kind.orders if name} | {usual}
        return next((order for order in (asked.get("order"), self.order) if order in known), usual)


def listing_of(person: Person, kind: ListKind, asked: QueryDict) -> KeptList:
    """The list as this person has it, asked for by this query. Two queries."""
    own = ListPreference.objects.filter(person=person, list=kind.name).first()
    every = frozenset(name for name, _ in kind.columns)
    return KeptList(
        kind=kind,
        columns=every if own is None or own.columns is None else every & set(own.columns),
        order=own.order if own and own.order in dict(kind.orders) else "",
        rows=own.rows if own and own.rows in SIZES else USUAL_SIZE,
        saved=list(SavedFilter.objects.filter(person=person, list=kind.name)),
        query=kind.narrowing(asked.urlencode()),
    )


def in_order(asked: QueryDict, order: str) -> QueryDict:
    """The query with the order in it in which it was answered: a cursor leads on in the order in which it was given, for anybody."""
    if asked.get("order"):
        return asked
    ordered = asked.copy()
    ordered["order"] = order
    return ordered


def arrange(person: Person, kind: ListKind, columns: Sequence[str], order: str, rows: int) -> None:
    """Stores how the person has the list; what it doesn't have is left out. Raises Problem 400 `invalid` for another page size."""
    if rows not in SIZES:
        raise Problem(400, "invalid", f"A page has {', '.join(map(str, SIZES))} rows.", fields={"rows": str(rows)})
    every = [name for name, _ in kind.columns]
    chosen = [name for name in every if name in columns]
    ListPreference.objects.update_or_create(
        person=person,
        list=kind.name,
        defaults={
            "columns": None if chosen == every else chosen,
            "order": order if order in dict(kind.orders) else "",
            "rows": rows,
        },
    )


def arrange_as_usual(person: Person, kind: ListKind) -> None:
    """The list as it comes."""
    ListPreference.objects.filter(person=person, list=kind.name).delete()


def save_filter(person: Person, kind: ListKind, name: str, query: str, *, pinned: bool) -> SavedFilter:
    """Gives what narrows a list a name.

    Raises Problem: 400 `invalid` for no name or a long one, for nothing that narrows; 409 `exists`; 409 `too_many`.
    """
    name, narrowing = " ".join(name.split()), kind.narrowing(query)
    _check(name, narrowing)
    with transaction.atomic():
        Person.objects.select_for_update().get(pk=person.pk)  # so that no two requests pass the count together
        if SavedFilter.objects.filter(person=person).count() >= MOST_FILTERS:
            raise Problem(
                409, "too_many", f"You have {MOST_FILTERS} saved filters. Remove one first, in your preferences."
            )
        try:
            with transaction.atomic():
                return SavedFilter.objects.create(
                    person=person, list=kind.name, name=name, query=narrowing, pinned=pinned
                )
        except IntegrityError:
            raise Problem(409, "exists", f"You already have a filter named {name} for this list.") from None


def _check(name: str, narrowing: str) -> None:
    if not name or len(name) > NAME_LENGTH or NOT_STORED.search(name):
        raise Problem(400, "invalid", f"A filter’s name has 1 to {NAME_LENGTH} characters.", fields={"name": "wrong"})
    if not narrowing:
        raise Problem(400, "invalid", "Nothing narrows the list. Filter it first, then save the filter.")
    if len(narrowing) > QUERY_LENGTH or NOT_STORED.search(narrowing):
        raise Problem(400, "invalid", f"A filter’s address has at most {QUERY_LENGTH:,} characters.")


def saved_filters(person: Person) -> list[SavedFilter]:
    """All saved filters of the person, by list."""
    return list(SavedFilter.objects.filter(person=person).order_by("list", "-pinned", "name", "id"))


def pin_filter(person: Person, filter_id: uuid.UUID, *, pinned: bool) -> None:
    """Puts a filter first, or back among the others. Raises Http404 if the person has none of this id."""
    if not SavedFilter.objects.filter(person=person, pk=filter_id).update(pinned=pinned):
        raise Http404


def remove_filter(person: Person, filter_id: uuid.UUID) -> None:
    """Forgets a filter. Raises Http404 if the person has none of this id."""
    deleted, _ = SavedFilter.objects.filter(person=person, pk=filter_id).delete()
    if not deleted:
        raise Http404
