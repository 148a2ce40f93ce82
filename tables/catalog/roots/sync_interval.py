"""How often the logs of a root's tables are read again: the shortest pause, or by hand only."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, Q, Value
from django.db.models.functions import Now, Random

from console.base.errors import Problem
from tables.models import Root, SyncTimes

SHORTEST = 10
LONGEST = 30 * 24 * 3600


def checked(seconds: int | None) -> int | None:
    """The pause, as it may be. Raises Problem 400 `invalid`."""
    if seconds is not None and not SHORTEST <= seconds <= LONGEST:
        detail = (
            f"The pause between syncs must be {SHORTEST} to {LONGEST:,} seconds; leave it empty to sync by hand only."
        )
        raise Problem(400, "invalid", detail, fields={"sync_seconds": detail})
    return seconds


def set_due(root: Root, tables_of: Root | None = None) -> None:
    """Has the root's tables due within its pause from now, spread over it; none of them where logs are read by hand only, or while
    the root is paused. With `tables_of`, those of another root, which are about to pass to this one.

    The rows are locked first: a sync that is just writing a next time, by the root as it was, has written it then.
    """
    tables = SyncTimes.objects.filter(table__root=tables_of or root, table__hidden_at=None)
    list(tables.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    if root.sync_seconds is None or root.paused_at is not None:
        tables.exclude(next_sync_at=None).update(next_sync_at=None)
        return
    pause = timedelta(seconds=root.sync_seconds)
    late = tables.filter(Q(next_sync_at=None) | Q(next_sync_at__gt=Now() + pause))
    late.update(next_sync_at=ExpressionWrapper(Now() + Random() * Value(pause), output_field=DateTimeField()))
