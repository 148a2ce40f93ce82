"""Who may act on a stream, and its row held for an act."""

from __future__ import annotations

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Stream
from jobs.streams.queries import may_run


def locked_row(stream: Stream) -> Stream:
    """The stream’s row, locked until the transaction ends. Raises Problem 409 `wrong_state` if it was removed."""
    locked = Stream.objects.select_for_update(of=("self",)).select_related("table", "run_by").get(pk=stream.pk)
    if locked.removed_at is not None:
        raise Problem(409, "wrong_state", "The stream was removed.")
    return locked


def require_operator(actor: Actor, stream: Stream, action: Action) -> None:
    """Raises Problem 403 `forbidden`, on record, unless the person may run and change the stream."""
    if may_run(require_person(actor), stream):
        return
    text = "You may see this stream but not run or change it; that takes an operator of its table."
    refuse(actor, action, ObjectKind.STREAM, stream.pk, stream.name, Problem(403, "forbidden", text))
