"""Acts on workers: a flag in the worker's row, which the worker obeys at its next heartbeat."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.models import Worker


def drain(actor: Actor, worker: Worker, *, on: bool) -> None:
    """Asks the worker to claim nothing more (`on`), or to claim again."""
    wish = Now() if on else None
    with transaction.atomic():
        after = {"draining": on}
        record(actor, Action.WORKER_DRAIN, ObjectKind.WORKER, worker.pk, worker.name, after=after)
        Worker.objects.filter(pk=worker.pk).update(drain_requested_at=wish)


def restart(actor: Actor, worker: Worker) -> None:
    """Asks the worker to exit, with its JVM, as soon as it is idle."""
    with transaction.atomic():
        record(actor, Action.WORKER_RESTART, ObjectKind.WORKER, worker.pk, worker.name)
        Worker.objects.filter(pk=worker.pk).update(restart_requested_at=Now())
