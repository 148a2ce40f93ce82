"""Favourites: tables that people find on home, first in the palette and by a filter of the list.

They are comfort, not security: nothing of them is an event of the audit. Everybody sees and changes their own alone, and only those of
tables that they may still see.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from django.db import transaction

from console.accounts.models import Person
from console.base.errors import Problem
from tables.catalog.listing import LISTED, favourite_of, visible_to
from tables.models import Favourite, Table

MOST = 200  # of a person, of those that they may see: others couldn’t be removed


def mark(person: Person, table: Table) -> None:
    """Makes the table, which the person may see, a favourite of theirs; it may be one already. Raises Problem 409 `too_many`."""
    with transaction.atomic():
        Person.objects.select_for_update().get(pk=person.pk)  # so that no two requests pass the count together
        if Favourite.objects.filter(person=person, table=table).exists():
            return
        if count(person) >= MOST:
            raise Problem(409, "too_many", f"You have {MOST} favourites. Remove one of them first.")
        Favourite.objects.create(person=person, table=table)


def unmark(person: Person, table: Table) -> None:
    """Takes the mark from the table, if it has one."""
    Favourite.objects.filter(person=person, table=table).delete()


def of(person: Person) -> list[Table]:
    """The person's favourites, by name, as a list shows them."""
    marked = visible_to(person).filter(favourite_of(person))
    return list(marked.select_related("times").only(*LISTED).order_by("name", "pk"))


def among(person: Person, tables: Iterable[Table]) -> frozenset[uuid.UUID]:
    """The ids of those of the tables that are favourites of the person."""
    marked = Favourite.objects.filter(person=person, table__in=[table.pk for table in tables])
    return frozenset(marked.values_list("table_id", flat=True))


def count(person: Person) -> int:
    """How many favourites the person may see."""
    return visible_to(person).filter(favourite_of(person)).order_by().count()
