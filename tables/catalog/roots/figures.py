"""How roots stand: how many tables they have, how far behind these are, and what fails."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet
from django.utils import timezone

from tables.models import Finding, Root, Table


@dataclass(frozen=True, slots=True)
class RootFigures:
    """Of one root: tables in the catalog, those due for a sync, never read, unreadable, and missing; the oldest sync of one that
    was read; what the last scan found new and what of it all is there."""

    tables: int = 0
    due: int = 0
    never: int = 0
    failing: int = 0
    missing: int = 0
    oldest: datetime | None = None
    found: int = 0
    gone: int = 0


def figures_of(roots: Iterable[Root]) -> Mapping[uuid.UUID, RootFigures]:
    """By root, in two queries however many roots there are."""
    ids = [root.pk for root in roots]
    finds = {row.pop("root_id"): row for row in _found(ids)}
    counts = {row.pop("root_id"): row for row in _counted(ids)}
    return {pk: RootFigures(**{**counts.get(pk, {}), **finds.get(pk, {})}) for pk in ids}


def _counted(ids: list[uuid.UUID]) -> Iterable[dict[str, Any]]:
    tables = Table.objects.filter(root__in=ids, hidden_at=None).order_by().values("root_id")
    due = Q(times__next_sync_at__lte=timezone.now())
    rows: Iterable[Any] = tables.annotate(
        tables=Count("pk"),
        due=Count("pk", filter=due),
        never=Count("pk", filter=Q(times__synced_at=None)),
        failing=Count("pk", filter=~Q(sync_error="")),
        missing=Count("pk", filter=Q(missing_since__isnull=False)),
        oldest=Min("times__synced_at"),
    )
    return rows


def _found(ids: list[uuid.UUID]) -> Iterable[dict[str, Any]]:
    rows = Finding.objects.filter(root__in=ids).order_by().values("root_id")
    counts: Iterable[Any] = rows.annotate(
        found=Count("pk", filter=Q(gone_at=None)), gone=Count("pk", filter=Q(gone_at__isnull=False))
    )
    return counts


LATEST = F("times__synced_at").desc(nulls_last=True)


def troubled(root: Root) -> QuerySet[Table]:
    """The root's tables that are missing or can't be read. The one that was still read last, which failed last, comes first."""
    return _bad().filter(root=root).order_by(LATEST, "name")


def failed_last(roots: Iterable[Root]) -> Mapping[uuid.UUID, Table]:
    """The first of `troubled` by root, for those that have one, in one query."""
    firsts = _bad().filter(root__in=list(roots)).order_by("root_id", LATEST, "name").distinct("root_id")
    return {table.root_id: table for table in firsts}


def _bad() -> QuerySet[Table]:
    bad = Q(missing_since__isnull=False) | ~Q(sync_error="")
    return Table.objects.filter(bad, hidden_at=None).select_related("times")
