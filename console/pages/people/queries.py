"""Queries of people, for pages and API."""

from __future__ import annotations

from django.db.models import Count, Prefetch, Q, QuerySet
from django.db.models.functions import Now

from console.accounts.models import Grant, Person
from console.accounts.roles import Permission


def grants_for(manager: Person) -> QuerySet[Grant]:
    """The grants that a manager of people may read: those of their scopes, and those on everything."""
    own = manager.scopes(Permission.PEOPLE_MANAGE)
    held = Grant.objects.select_related("person", "root", "table", "granted_by")
    if own.everything:
        return held
    places = Q(root__in=own.roots) | Q(table__in=own.tables) | Q(table__root__in=own.roots)
    return held.filter(places | Q(scope=Grant.Scope.EVERYTHING))


def people(manager: Person) -> QuerySet[Person]:
    """All people with the grants that the manager may read, and `live_tokens`, the number of tokens that still work."""
    live = Q(tokens__revoked_at=None, tokens__expires_at__gt=Now())
    counted = Person.objects.annotate(live_tokens=Count("tokens", filter=live))
    return counted.prefetch_related(Prefetch("grants", grants_for(manager)))
