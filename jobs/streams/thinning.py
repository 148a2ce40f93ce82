"""Thins the past of streams by age. The audit keeps what every round did."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from jobs.domain.states import State
from jobs.models import Job, StreamBatch

KEPT_BATCHES = timedelta(days=90)
KEPT_EMPTY_ROUNDS = timedelta(days=1)


def thin() -> int:
    """Deletes batches beyond their age, and the jobs of old rounds that committed nothing. The audit keeps what they did."""
    old, _ = StreamBatch.objects.filter(
        pk__in=StreamBatch.objects.filter(at__lt=Now() - KEPT_BATCHES).values("pk")[:5_000]
    ).delete()
    empty = Job.objects.filter(
        folded=True, version=None, no_op=True, state=State.SUCCEEDED, finished_at__lt=Now() - KEPT_EMPTY_ROUNDS,
        stream_round__booked_at__isnull=False, stream_round__reset=False, decisions=None, edits=None,
    )  # fmt: skip
    gone, _ = Job.objects.filter(pk__in=empty.values("pk")[:500]).delete()
    return old + gone
