"""Records refused acts as events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem

# Acts that a person may not do now; a malformed request (400) or an unavailable audit (503) isn't a refusal.
REFUSALS = frozenset({403, 409, 429})


@contextmanager
def refusals_on_record(
    actor: Actor, action: Action, object_kind: ObjectKind, object_id: object, object_name: str
) -> Iterator[None]:
    """Records a refusal that is raised inside, once the act's transaction is over; so it goes around that transaction."""
    try:
        yield
    except Problem as problem:
        if problem.status not in REFUSALS:
            raise
        refuse(actor, action, object_kind, object_id, object_name, problem)
