"""What a schedule says, checked and measured on its table: nothing is written here."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.shortcuts import get_object_or_404

from console.accounts.admins import who_gives_roles
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from console.base.text.counted import counted
from jobs.commands.registry import ROWS, handling_of
from jobs.domain.commands import Command, command_to_json
from jobs.domain.digest import sha256_of
from jobs.domain.errors import CommandRefused
from jobs.domain.policy import Policy, TableClass, decide
from jobs.lifecycle.cancelling import require_person
from jobs.models import Schedule
from jobs.policy import protection
from jobs.policy.evaluate import rules_for
from jobs.predicates.reading import check_syntax
from jobs.schedules import times
from jobs.schedules.places import SchedulePlace, may, place_of
from jobs.schedules.standing import needs_a_person, shape_of
from jobs.targets.access import table_to_change
from jobs.targets.problems import problem_of_refused
from jobs.targets.writable import subject_to_change
from tables.catalog.listing import roots_of
from tables.models import Root

NAME_LENGTH = 100
LONGEST_WINDOW = 7 * 24 * 60  # minutes: a request expires after as long
MOST_BYTES = 2**63 - 1
TAG_LENGTH = 50


@dataclass(frozen=True, slots=True)
class WantedSchedule:
    """What a person says of a schedule. `command` is as it was asked for; None as a bound: none.

    With `root` or `tag` it runs on all tables there, and the command's own table is empty.
    """

    command: Command
    cron: str
    time_zone: str
    window_minutes: int
    max_bytes: int | None = None
    max_minutes: int | None = None
    root: uuid.UUID | None = None
    tag: str = ""

    @property
    def is_for_many(self) -> bool:
        return self.root is not None or bool(self.tag)


@dataclass(frozen=True, slots=True)
class MeasuredDefinition:
    """The definition on its table as it is now: the log's preview, if the command has one before it is measured. Of many tables neither
    shape nor preview is looked at: each run is, on its own."""

    place: SchedulePlace
    shape: dict[str, Any]
    table_class: TableClass
    preview: dict[str, Any]


def invalid(field: str, text: str) -> Problem:
    """A refusal of one field."""
    return Problem(400, "invalid", f"{text} Nothing was changed.", fields={field: text})


def checked_name(name: str) -> str:
    """The name, stripped. Raises Problem 400."""
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise invalid("name", f"A schedule needs a name of 1 to {NAME_LENGTH} printable characters.")
    return name


def check(wanted: WantedSchedule) -> None:
    """Refuses what the text alone rules out. Raises Problem 400."""
    kind = wanted.command.kind
    if not ROWS[kind].may_be_scheduled:
        raise invalid("command", f"A {kind.replace('_', ' ')} can’t be scheduled: {_why_not(kind)}")
    try:
        times.zone_of(wanted.time_zone)
    except times.NeverDue as error:
        raise invalid("time_zone", str(error)) from None
    try:
        times.check(wanted.cron, wanted.time_zone)
    except times.NeverDue as error:
        raise invalid("cron", str(error)) from None
    _check_bounds(wanted)
    handling_of(kind).check(wanted.command)


def _why_not(kind: str) -> str:
    known = ", ".join(sorted(row.kind for row in ROWS.values() if row.may_be_scheduled))
    reviewed = (
        "each run of it needs its own review, or it makes sense once."
        if ROWS[kind].is_requested
        else "it isn’t requested."
    )
    return f"{reviewed} You can schedule: {known}."


def _check_bounds(wanted: WantedSchedule) -> None:
    if not 1 <= wanted.window_minutes <= LONGEST_WINDOW:
        raise invalid("window_minutes", f"A window has 1 to {LONGEST_WINDOW:,} minutes.")
    if wanted.max_minutes is not None and wanted.max_minutes < 1:
        raise invalid("max_minutes", "A run needs 1 minute at least.")
    if wanted.max_minutes is not None and wanted.max_minutes > wanted.window_minutes:
        text = f"The window of {counted(wanted.window_minutes, 'minute')} is shorter than its bound: a run may take {wanted.max_minutes:,}."
        raise invalid("window_minutes", text)
    if wanted.max_bytes is not None and not 1 <= wanted.max_bytes <= MOST_BYTES:
        raise invalid("max_bytes", "A bound has 1 byte at least.")


def measured(actor: Actor, wanted: WantedSchedule) -> MeasuredDefinition:
    """The definition on its table, read now. Raises Http404; Problem 400, 403, 409, 422 as a request of the command does."""
    if wanted.is_for_many:
        return _of_many(actor, wanted)
    table = table_to_change(actor, uuid.UUID(str(getattr(wanted.command, "table", ""))))
    protection.require_unprotected(actor, wanted.command.kind, table.path)
    try:
        subject = subject_to_change(table.pk)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    preview = handling_of(wanted.command.kind).prepare(actor, wanted.command, subject).preview or {}
    if refusal := needs_a_person(wanted.command.kind, preview):
        raise problem_of_refused(CommandRefused(refusal))
    table_class = TableClass(preview.get("class") or TableClass.ORDINARY)
    return MeasuredDefinition(SchedulePlace(table), shape_of(subject), table_class, bounded(wanted, preview))


def _of_many(actor: Actor, wanted: WantedSchedule) -> MeasuredDefinition:
    """For all tables of a root or with a tag. A run that affects more of its table than an ordinary one, such as a vacuum with less than
    a week of retention, isn't what is approved here."""
    person = require_person(actor)
    if getattr(wanted.command, "table", ""):
        raise invalid("command", "Leave the table out: the schedule is for all tables of a root or with a tag.")
    if wanted.root is not None and wanted.tag:
        raise invalid("tag", "A schedule is for the tables of a root or for those with a tag, not for both.")
    if len(wanted.tag) > TAG_LENGTH or wanted.tag != wanted.tag.strip() or not wanted.tag.isprintable():
        raise invalid("tag", f"A tag has 1 to {TAG_LENGTH} printable characters.")
    place = SchedulePlace(tag=wanted.tag) if wanted.root is None else SchedulePlace(root=_root(person, wanted.root))
    require_operator_there(actor, place)
    handling_of(wanted.command.kind).check_for_many(wanted.command)
    _check_predicate(wanted.command)
    if place.root is not None:
        protection.require_unprotected(actor, wanted.command.kind, place.root.uri)
    return MeasuredDefinition(place, {}, TableClass.ORDINARY, {})


def _check_predicate(command: Command) -> None:
    """Raises Problem 400 for one that fits no table. A table that lacks its columns is skipped, with why."""
    predicate = getattr(command, "predicate", None)
    if predicate is None:
        return
    try:
        check_syntax(predicate)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None


def require_operator_there(actor: Actor, place: SchedulePlace) -> None:
    """Raises Problem 403 `forbidden`, on record, unless the person may change all the tables of a root, or any table for a tag."""
    if not may(require_person(actor), Permission.JOB_REQUEST, place):
        what = "everything, since any table may get the tag" if place.root is None else f"the root {place.root.name}"
        problem = Problem(
            403, "forbidden", f"That takes an operator of {what}. Nothing was changed. {who_gives_roles()}"
        )
        refuse(actor, Action.SCHEDULE_CREATE, ObjectKind.SCHEDULE, "", place.name, problem)


def _root(person: Person, root_id: uuid.UUID) -> Root:
    """Raises Http404 for a root of which the person sees nothing."""
    return get_object_or_404(roots_of(person), pk=root_id)


def bounded(wanted: WantedSchedule, preview: dict[str, Any]) -> dict[str, Any]:
    """The preview, if a bound of bytes can be held against it. Raises Problem 400."""
    field = ROWS[wanted.command.kind].schedule_bytes
    if wanted.max_bytes is not None and field in preview and preview[field] is None:
        raise invalid("max_bytes", "How many bytes a run takes here isn’t known before it: leave the bound out.")
    return preview


def digest_of(wanted: WantedSchedule, found: MeasuredDefinition) -> str:
    """The sha256 that people approve: the command and its table as it is, when it runs, and its bounds; not its name."""
    return digest_of_row(
        Schedule(
            command=wanted.command.kind,
            schema_version=wanted.command.schema_version,
            parameters=command_to_json(wanted.command),
            table=found.place.table,
            root=found.place.root,
            tag=found.place.tag,
            shape=found.shape,
            table_class=found.table_class.value,
            cron=wanted.cron,
            time_zone=wanted.time_zone,
            window_minutes=wanted.window_minutes,
            max_bytes=wanted.max_bytes,
            max_minutes=wanted.max_minutes,
        )
    )


def digest_of_row(schedule: Schedule) -> str:
    """The same of a definition as its row holds it: its `digest`, unless something else than Levee wrote the row."""
    return sha256_of(
        {
            "command": schedule.command,
            "schema_version": schedule.schema_version,
            "parameters": schedule.parameters,
            **place_of(schedule).on,
            "shape": schedule.shape,
            "class": schedule.table_class,
            "cron": schedule.cron,
            "time_zone": schedule.time_zone,
            "window_minutes": schedule.window_minutes,
            "bounds": {"max_bytes": schedule.max_bytes, "max_minutes": schedule.max_minutes},
        }
    )


def policy_of(command: str, authors: Iterable[uuid.UUID], place: SchedulePlace, table_class: TableClass) -> Policy:
    """The policy of the command there, whatever share of a table a run affects: the strictest by whoever shaped the definition."""
    rules = [rules_for(command, author) for author in authors]
    policies = [decide(each, case) for case in place.cases(command, table_class) for each in rules]
    return max(policies, key=lambda policy: (policy.required_approvals, policy.refuses_tokens))
