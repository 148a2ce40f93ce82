"""The catalog's answers to the audit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import Q, QuerySet

from console.accounts.models import Scopes
from tables.catalog.listing import within
from tables.models import Table

MOST_NAMESAKES = 100


class KnownTables:
    """The tables of the catalog, including hidden ones: their events stay on record."""

    def ids_within(self, scopes: Sequence[Scopes]) -> QuerySet[Table, uuid.UUID]:
        if not scopes:
            return Table.objects.none().values_list("pk", flat=True)
        condition = within(scopes[0])
        for scope in scopes[1:]:
            condition |= within(scope)
        return Table.objects.filter(condition).order_by().values_list("pk", flat=True)

    def ids_of(self, text: str) -> Sequence[uuid.UUID]:
        try:
            wanted = Q(pk=uuid.UUID(text))
        except ValueError:
            wanted = Q(catalog_name=text.lower()) | Q(path=text) | Q(name=text)
        return list(Table.objects.filter(wanted).order_by().values_list("pk", flat=True)[:MOST_NAMESAKES])
