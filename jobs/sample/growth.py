"""The sample lake grows while a stream reads it: otherwise a first stream would load what is there and then show nothing."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from jobs.models import Stream
from jobs.sample.place import home, sample_root
from tables.models import Root
from tables.rules import sample_lake


def grow() -> int:
    """Has the next hour of page views arrive if a running stream reads them and it is time. Returns how many files it wrote."""
    running = Stream.objects.filter(removed_at=None, state=Stream.State.RUNNING)
    names = {str(path) for path in running.values_list("definition__source__path", flat=True)}
    if not any(name.endswith(f"/{sample_lake.SAMPLE_STREAM.source}") for name in names):
        return 0  # usually: without a look at roots and disks
    root = sample_root()
    if root is None or root.removed_at or f"{root.uri}/{sample_lake.SAMPLE_STREAM.source}" not in names:
        return 0
    with transaction.atomic():
        # One dispatcher at a time, and none while the lake is being removed.
        held = Root.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=root.pk)
        return int(held.first() is not None and sample_lake.grow(home(), timezone.now()))
