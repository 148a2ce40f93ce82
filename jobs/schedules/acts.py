"""What people do with schedules: define, change, pause, resume, remove. Each checks, acts and audits in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.accounts.models import Person
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem, broken
from jobs.commands.registry import command_from_json, handling_of
from jobs.domain.commands import Command, command_to_json
from jobs.lifecycle.cancelling import require_person
from jobs.models import Schedule
from jobs.requests.asking import IdempotencyKey, check_reason
from jobs.schedules import approvals, definition
from jobs.schedules.definition import MeasuredDefinition, WantedSchedule
from jobs.schedules.locking import locked_row, require_operator
from jobs.schedules.places import on_table, place_of
from jobs.schedules.queries import schedule_for
from jobs.schedules.standing import DEFINE_AGAIN, moved
from jobs.schedules.stopping import end_waiting

State = Schedule.State


@dataclass(frozen=True, slots=True)
class CreatedSchedule:
    """A schedule, and whether this call made it (False: an earlier request with the same idempotency key did)."""

    schedule: Schedule
    fresh: bool


def wanted_of(schedule: Schedule) -> WantedSchedule:
    """What the schedule says, as a person would say it again."""
    command = command_from_json(schedule.command, schedule.schema_version, schedule.parameters)
    return WantedSchedule(
        command,
        schedule.cron,
        schedule.time_zone,
        schedule.window_minutes,
        schedule.max_bytes,
        schedule.max_minutes,
        schedule.root_id,
        schedule.tag,
    )


def command_on(schedule: Schedule, table_id: uuid.UUID) -> Command:
    """The command of a run on one of its tables, as a person would ask for it."""
    command = wanted_of(schedule).command
    return command if schedule.table_id is not None else on_table(command, table_id)


def create(
    actor: Actor, name: str, reason: str, wanted: WantedSchedule, key: IdempotencyKey | None = None
) -> CreatedSchedule:
    """A schedule: active if the rules ask for no approval of its command, else waiting for them.

    Raises Http404; Problem 400, 403, 409 `name_taken` or `idempotency_conflict`, 422, 503.
    """
    person = require_person(actor)
    if key and (known := _known(person, key)):
        return CreatedSchedule(known, fresh=False)
    check_reason(reason)
    name = definition.checked_name(name)
    definition.check(wanted)
    found = definition.measured(actor, wanted)
    schedule = Schedule(
        name=name, reason=reason, table=found.place.table, root=found.place.root, tag=found.place.tag,
        created_by=person, edited_by=[str(person.pk)],
        idempotency_key=key.text if key else None, request_sha256=key.request_sha256 if key else "",
        **_fields(person, [str(person.pk)], wanted, found),
    )  # fmt: skip
    try:
        with transaction.atomic():
            _record(actor, Action.SCHEDULE_CREATE, schedule, reason=reason, after=shown(schedule))
            schedule.save(force_insert=True)
            _begin(schedule)
    except IntegrityError as error:
        if key and (known := _known(person, key)):  # the same request, which came at the same moment, was first
            return CreatedSchedule(known, fresh=False)
        raise _taken(error, name) from None
    schedule.refresh_from_db()
    return CreatedSchedule(schedule, fresh=True)


def _known(person: Person, key: IdempotencyKey) -> Schedule | None:
    """The schedule that this key made. Raises Http404, Problem 409 `idempotency_conflict`."""
    known = Schedule.objects.filter(created_by=person, idempotency_key=key.text).first()
    if known is None:
        return None
    if known.removed_at is not None or known.request_sha256 != key.request_sha256:
        text = "This Idempotency-Key was used for another request; nothing was created. Use a fresh key."
        raise Problem(409, "idempotency_conflict", text)
    return schedule_for(person, known.pk)


def _fields(
    person: Person, authors: Iterable[str], wanted: WantedSchedule, found: MeasuredDefinition
) -> dict[str, Any]:
    command = wanted.command
    shaped = sorted(uuid.UUID(author) for author in {*authors, str(person.pk)})
    policy = definition.policy_of(command.kind, shaped, found.place, found.table_class)
    return {
        "command": command.kind,
        "schema_version": command.schema_version,
        "parameters": command_to_json(command),
        "asked": dict(handling_of(command.kind).asked(command)),
        "cron": wanted.cron,
        "time_zone": wanted.time_zone,
        "window_minutes": wanted.window_minutes,
        "max_bytes": wanted.max_bytes,
        "max_minutes": wanted.max_minutes,
        "shape": found.shape,
        "table_class": found.table_class.value,
        "digest": definition.digest_of(wanted, found),
        "policy": policy.as_json(),
        "run_by": person,  # runs are in the name of who defined them last, with that person's rights
        "state": State.AWAITING_APPROVAL,
        "state_text": "",
        "next_due_at": None,
        "failures": 0,
        "resumed_at": Now(),
    }


def _begin(schedule: Schedule) -> None:
    """Active at once where no approval is needed."""
    if approvals.is_approved(schedule):
        approvals.activate(schedule)


def shown(schedule: Schedule) -> dict[str, Any]:
    """A definition as the audit keeps it."""
    return {
        "command": {"command": schedule.command, **schedule.asked},
        "runs_on": place_of(schedule).name,
        "cron": schedule.cron,
        "time_zone": schedule.time_zone,
        "window_minutes": schedule.window_minutes,
        "bounds": {"max_bytes": schedule.max_bytes, "max_minutes": schedule.max_minutes},
        "digest": schedule.digest,
        "revision": schedule.revision,
    }


def change(
    actor: Actor, schedule: Schedule, wanted: WantedSchedule, *, name: str | None = None, reason: str | None = None
) -> Schedule:
    """The schedule with this definition on the table as it is now; voids every approval, and its runs are in the actor's name.

    Raises Problem as `create`; 409 `wrong_state` if it was changed meanwhile.
    """
    require_operator(actor, schedule, Action.SCHEDULE_CHANGE)
    refuse_without_root(schedule)
    person = require_person(actor)
    name = schedule.name if name is None else definition.checked_name(name)
    if reason is not None:
        check_reason(reason)
    definition.check(wanted)
    found = definition.measured(actor, wanted)
    if found.place != place_of(schedule):
        raise definition.invalid("command", "A schedule keeps its table, root or tag: define another one instead.")
    fields = {"name": name, "reason": reason or schedule.reason, **_fields(person, schedule.edited_by, wanted, found)}
    try:
        with transaction.atomic():
            return _rewrite(actor, schedule, fields, person)
    except IntegrityError as error:
        raise _taken(error, name) from None


def _rewrite(actor: Actor, seen: Schedule, fields: dict[str, Any], person: Person) -> Schedule:
    locked = locked_row(seen)
    if locked.revision != seen.revision:
        text = "The schedule was changed meanwhile. Nothing changed; look at it again."
        raise Problem(409, "wrong_state", text, state=locked.state)
    before = shown(locked)
    for field, value in fields.items():
        setattr(locked, field, value)
    locked.revision += 1
    locked.edited_by = sorted({*locked.edited_by, str(person.pk)})
    _record(actor, Action.SCHEDULE_CHANGE, locked, reason=locked.reason, before=before, after=shown(locked))
    locked.decisions.filter(voided_at=None).update(voided_at=Now())
    end_waiting(actor, locked, "The schedule’s definition has changed.")
    locked.save(update_fields=[*fields, "revision", "edited_by"])
    Schedule.objects.filter(pk=locked.pk).update(state_at=Now())
    _begin(locked)
    locked.refresh_from_db()
    return locked


def pause(actor: Actor, schedule: Schedule) -> Schedule:
    """Opens no further runs; one that waits for a worker is ended. Raises Problem 403, 409 `wrong_state`."""
    require_operator(actor, schedule, Action.SCHEDULE_PAUSE)
    with transaction.atomic():
        locked = locked_row(schedule)
        if locked.state not in {State.ACTIVE, State.AWAITING_APPROVAL}:
            raise approvals.wrong_state(locked)
        _record(actor, Action.SCHEDULE_PAUSE, locked)
        end_waiting(actor, locked, "The schedule was paused.")
        Schedule.objects.filter(pk=locked.pk).update(
            state=State.PAUSED, state_at=Now(), state_text=f"Paused by {actor.name}.", next_due_at=None
        )
        locked.refresh_from_db()
    return locked


def resume(actor: Actor, schedule: Schedule) -> Schedule:
    """Opens runs again, from the next due time on, while what was approved still holds; without its approvals it waits for them.

    Raises Problem 403; 409 `wrong_state` for one that isn't paused or stopped, `rejected`, or whose table has moved; 422.
    """
    require_operator(actor, schedule, Action.SCHEDULE_RESUME)
    refuse_without_root(schedule)
    found = definition.measured(actor, wanted_of(schedule))
    if text := moved(schedule.shape, found.shape):
        raise Problem(409, "wrong_state", f"{text} {DEFINE_AGAIN}", state=schedule.state)
    with transaction.atomic():
        locked = locked_row(schedule)
        if locked.state not in {State.PAUSED, State.STOPPED}:
            raise approvals.wrong_state(locked)
        _refuse_rejected(locked)
        _record(actor, Action.SCHEDULE_RESUME, locked)
        Schedule.objects.filter(pk=locked.pk).update(resumed_at=Now())
        if approvals.is_approved(locked):
            approvals.activate(locked)
        else:
            Schedule.objects.filter(pk=locked.pk).update(
                state=State.AWAITING_APPROVAL, state_at=Now(), state_text="", failures=0
            )
        locked.refresh_from_db()
    return locked


def refuse_without_root(schedule: Schedule) -> None:
    """Raises Problem 409 `wrong_state` for one whose root was removed."""
    if schedule.root is not None and schedule.root.removed_at is not None:
        text = f"The root {schedule.root.name} was removed, so that this can only be removed. Nothing was changed."
        raise Problem(409, "wrong_state", text, state=schedule.state)


def _refuse_rejected(locked: Schedule) -> None:
    if locked.decisions.filter(digest=locked.digest, decision="reject", voided_at=None).exists():
        text = "The schedule was rejected. Edit it to request it again; nothing was changed."
        raise Problem(409, "wrong_state", text, state=locked.state)


def remove(actor: Actor, schedule: Schedule, reason: str = "") -> None:
    """Takes the schedule from the lists; its past stays on record. A run that waits is ended. Raises Problem 403, 409 `wrong_state`."""
    require_operator(actor, schedule, Action.SCHEDULE_DELETE)
    with transaction.atomic():
        locked = locked_row(schedule)
        _record(actor, Action.SCHEDULE_DELETE, locked, reason=reason, before=shown(locked))
        end_waiting(actor, locked, "The schedule was removed.")
        Schedule.objects.filter(pk=locked.pk).update(
            removed_at=Now(), state=State.STOPPED, state_text=f"Removed by {actor.name}.", next_due_at=None
        )


def _record(actor: Actor, action: Action, schedule: Schedule, **said: Any) -> None:
    record(actor, action, ObjectKind.SCHEDULE, schedule.pk, schedule.name, table=schedule.table_id, **said)


def _taken(error: IntegrityError, name: str) -> Exception:
    """What the database refused, as a Problem 409 `name_taken`; any other error as it is."""
    if broken(error) != "schedule_name_once":
        return error
    text = f"A schedule is called {name} already. Nothing was changed."
    return Problem(409, "name_taken", text, fields={"name": text})
