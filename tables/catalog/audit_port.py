"""The catalog's answers to the audit."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from django.db.models import Q, QuerySet

from console.accounts.models import Scopes
from tables.catalog.listing import within
from tables.models import Table


class KnownTables:
    """The tables of the catalog, including hidden ones: their events stay on record."""

    def ids_within(self, scopes: Sequence[Scopes]) -> QuerySet[Table, uuid.UUID]:
        if not scopes:
            return Table.objects.none().values_list("pk", flat=True)
        condition = within(scopes[0])
        for scope in scopes[1:]:
            condition |= within(scope)
        return Table.objects.filter(condition).order_by().values_list("pk", flat=True)

    def id_of(self, text: str) -> uuid.UUID | None:
        named = Table.objects.filter(Q(catalog_name=text.lower()) | Q(path=text) | Q(name=text))
        return named.values_list("pk", flat=True).first()
