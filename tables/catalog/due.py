"""The work that waits for the light worker."""

from __future__ import annotations

from django.db.models.functions import Now

from tables.catalog import facets
from tables.catalog.lately import days
from tables.catalog.listing import scan_waits
from tables.models import Root, SyncTimes


def syncs_due() -> bool:
    """Whether work waits for the light worker: a table to sync, a root to scan or count."""
    due = SyncTimes.objects.filter(next_sync_at__lte=Now(), table__hidden_at=None)
    if due.exists() or Root.objects.filter(scan_waits()).exists():
        return True
    return facets.next_late() is not None or days.next_late() is not None
