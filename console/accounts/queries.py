"""People as pages and API read them."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from console.accounts.models import Person


def people() -> QuerySet[Person]:
    """Everybody with their grants, and with `live_tokens`, the number of tokens that still work."""
    live = Q(tokens__revoked_at=None, tokens__expires_at__gt=Now())
    counted = Person.objects.annotate(live_tokens=Count("tokens", filter=live))
    return counted.prefetch_related("grants__root", "grants__table", "grants__granted_by")
