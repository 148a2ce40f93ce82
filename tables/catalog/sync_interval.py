"""How often the logs of a root's tables are read again: the shortest pause, or by hand only."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, Q, Value
from django.db.models.functions import Now, Random

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
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


def change(actor: Actor, root: Root, seconds: int | None) -> Root:
    """Sets a root's pause in seconds; None: by hand, and after Levee's jobs, only.

    Its tables are due within the new pause from now, spread over it. Raises Problem: 403 `forbidden`, 400 `invalid`.
    """
    if actor.person is not None and not actor.person.scopes(Permission.ROOT_MANAGE).covers_root(root.pk):
        raise Problem(403, "forbidden", f"This needs {Permission.ROOT_MANAGE.value} on the root {root.name}.")
    wanted = checked(seconds)
    with transaction.atomic():
        fresh = Root.objects.select_for_update(no_key=True).get(pk=root.pk)
        if fresh.sync_seconds != wanted:
            before, after = {"sync_seconds": fresh.sync_seconds}, {"sync_seconds": wanted}
            record(actor, Action.ROOT_CHANGE, ObjectKind.ROOT, fresh.id, fresh.name, before=before, after=after)
            Root.objects.filter(pk=fresh.pk).update(sync_seconds=wanted)
            fresh.sync_seconds = wanted
            _set_due(fresh)
    return fresh


def _set_due(root: Root) -> None:
    tables = SyncTimes.objects.filter(table__root=root, table__hidden_at=None)
    if root.sync_seconds is None:
        tables.exclude(next_sync_at=None).update(next_sync_at=None)
        return
    pause = timedelta(seconds=root.sync_seconds)
    late = tables.filter(Q(next_sync_at=None) | Q(next_sync_at__gt=Now() + pause))
    late.update(next_sync_at=ExpressionWrapper(Now() + Random() * Value(pause), output_field=DateTimeField()))
