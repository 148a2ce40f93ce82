"""How far the signed heads are behind the chain."""

from __future__ import annotations

from django.utils import timezone

from console.audit.models import Head, Seal


def of_newest() -> dict[tuple[str, ...], tuple[float | None, int]]:
    """(Seconds since the newest head was signed, None without one; sealed records after it), without labels."""
    head = Head.objects.order_by("-sequence").values_list("sequence", "signed_at").first()
    end = Seal.objects.order_by("-sequence").values_list("sequence", flat=True).first() or 0
    if head is None:
        return {(): (None, end)}
    return {(): ((timezone.now() - head[1]).total_seconds(), max(end - head[0], 0))}
