"""Whether the catalog's entries are as fresh as they should be: one condition for lists, counts, facets and single tables.

Time passes without a sync, so none of this is stored: a sync that doesn't happen can't write that it didn't.
"""

from __future__ import annotations

from django.db.models import Q
from django.utils import timezone

from tables.models import Table
from tables.rules import health
from tables.rules.health_findings import HealthFinding


def late() -> Q:
    """Tables that were read, but too long ago: those with the finding `stale_sync`."""
    return Q(times__synced_at__lt=timezone.now() - health.STALE)


def out_of_sync() -> Q:
    """Tables of which the catalog doesn't know how they are now: late, vanished, unreadable, or never read."""
    return late() | Q(times__synced_at=None) | Q(missing_since__isnull=False) | ~Q(sync_error="")


def late_finding(table: Table) -> HealthFinding | None:
    """The finding `stale_sync` of one table; None when it was read lately, or never."""
    return health.stale(table.synced_at, timezone.now())


def codes_of(table: Table) -> list[str]:
    """The codes of a table's findings, those that time alone has added among them."""
    finding = late_finding(table)
    return [*table.health_codes, finding.code.value] if finding else list(table.health_codes)
