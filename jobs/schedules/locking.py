"""Who may act on a schedule, and its row held for an act."""

from __future__ import annotations

from console.accounts.admins import who_gives_roles
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Schedule
from jobs.schedules.places import place_of
from jobs.schedules.queries import may_run


def locked_row(schedule: Schedule) -> Schedule:
    """The schedule’s row, locked until the transaction ends. Raises Problem 409 `wrong_state` if it was removed."""
    rows = Schedule.objects.select_for_update(of=("self",)).select_related("table", "root", "run_by")
    locked = rows.get(pk=schedule.pk)
    if locked.removed_at is not None:
        raise Problem(409, "wrong_state", "The schedule was removed.")
    return locked


def require_operator(actor: Actor, schedule: Schedule, action: Action) -> None:
    """Raises Problem 403 `forbidden`, on record, unless the person may change the schedule."""
    if may_run(require_person(actor), schedule):
        return
    text = f"You may see this schedule but not change it; that takes an operator of {place_of(schedule).name}. {who_gives_roles()}"
    refuse(actor, action, ObjectKind.SCHEDULE, schedule.pk, schedule.name, Problem(403, "forbidden", text))
