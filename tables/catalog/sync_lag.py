"""How far the light worker is behind with the syncs that are due."""

from __future__ import annotations

from django.db.models.functions import Now
from django.utils import timezone

from tables.models import SyncTimes

MOST = 1_000  # counted: whether each is hidden costs a look into a large table, and a larger number tells nobody more


def due() -> dict[tuple[str, ...], tuple[float, float]]:
    """(Tables due for a sync, at most MOST; seconds since the first of them became due), without labels."""
    tables = SyncTimes.objects.filter(next_sync_at__lte=Now(), table__hidden_at=None).order_by("next_sync_at")
    number = tables[:MOST].count()
    if not number:
        return {(): (0, 0.0)}
    first = tables.values_list("next_sync_at", flat=True).first()
    return {(): (number, max((timezone.now() - first).total_seconds(), 0.0) if first else 0.0)}
