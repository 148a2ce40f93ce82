"""The audit's port to the catalog, which registers here at start: the audit itself knows no tables."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any, Protocol

from django.db.models import QuerySet

from console.accounts.models import Scopes


class Catalog(Protocol):
    """The answers of the application with the tables."""

    def ids_within(self, scopes: Sequence[Scopes]) -> QuerySet[Any, uuid.UUID]:
        """The ids of the tables that any of the scopes stands for, as a query that isn't run yet."""

    def ids_of(self, text: str) -> Sequence[uuid.UUID]:
        """The ids of the tables that have this name, catalog name or path, or this id."""


_known: list[Catalog] = []


def answers(catalog: Catalog) -> None:
    """Registers the catalog to ask."""
    _known[:] = [catalog]


def tables_within(*scopes: Scopes) -> QuerySet[Any, uuid.UUID]:
    """The ids of the tables that any of the scopes stands for; none stands for no table."""
    return _known[0].ids_within([scope for scope in scopes if scope])


def tables_called(text: str) -> Sequence[uuid.UUID]:
    """The ids of the tables that have this name, catalog name or path, or this id."""
    return _known[0].ids_of(text)
