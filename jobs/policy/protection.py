"""Tables and roots that a rule protects: no job changes them, or none of one command, whoever asks and however it was approved.

Which rule holds where is the database's to say (`jobs_protecting`, `jobs_protection`), which also lets no such job begin.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Func, JSONField, UUIDField, Value

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.domain.errors import Refusal
from jobs.domain.policy import ANY, forbidding
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job, PolicyRule
from tables.models import Table

CODE = "protected"
REMEDY = "Two admins can switch the rule off under Policies."


@dataclass(frozen=True, slots=True)
class Protection:
    """A rule that forbids something at a place: `command` may be ANY."""

    rule: uuid.UUID
    name: str
    command: str

    @property
    def text(self) -> str:
        """What it forbids, and by which rule: `Levee runs no vacuum job here: the rule “Ledger” protects it.`"""
        return f"{forbidding(self.command).removesuffix('.')}: the rule “{self.name}” protects it."

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return REMEDY


def over(kind: str, place: str, asker: uuid.UUID, preview: Mapping[str, Any] | None = None) -> Protection | None:
    """The rule that forbids a job of this kind at a path, asked for by that person; None if there is none. One query."""
    reads = Value({"reads": (preview or {}).get("reads") or {}}, JSONField())
    asked = (Value(kind), Value(place), reads, Value(asker, UUIDField()))
    found = Func(*asked, function="jobs_protection", output_field=UUIDField())
    rule = PolicyRule.objects.filter(pk=found).first()
    return None if rule is None else Protection(rule.pk, rule.name, rule.command)


def of_job(job: Job) -> Protection | None:
    """The rule that forbids a job as it was asked for; None if there is none."""
    return over(job.command, job.location, job.requested_by_id, job.preview)


def require_unprotected(
    actor: Actor,
    kind: str,
    place: str,
    preview: Mapping[str, Any] | None = None,
    *,
    action: Action = Action.JOB_REQUEST,
) -> None:
    """Raises Problem 409 `protected`, recorded as a refusal of `action`, if a rule forbids the actor's job of this kind.

    Not to be called inside an act's transaction.
    """
    found = over(kind, place, require_person(actor).pk, preview)
    if found is None:
        return
    if table := Table.objects.filter(path=place).first():
        refuse(actor, action, ObjectKind.TABLE, table.pk, table.name, problem_of(found))
    refuse(actor, action, ObjectKind.PATH, place, place, problem_of(found))


def problem_of(found: Protection, state: str = "Nothing was changed.") -> Problem:
    """The refusal of an act; `state` says what was left as it was."""
    return Problem(409, CODE, f"{found.text} {state} {REMEDY}", rule=str(found.rule))


def refusal_of(found: Protection) -> Refusal:
    """The same for a run that may not begin."""
    return Refusal(CODE, found.text, remedy=REMEDY)


def at(places: Iterable[str], asker: uuid.UUID) -> dict[str, list[Protection]]:
    """The rules that protect each of these paths, the widest first; paths without one are left out. One query."""
    sql = (
        "select p.place, r.id, r.name, r.command from unnest(%s::text[]) as p(place) cross join jobs_protecting(p.place, %s) r"
        " order by r.command <> %s, r.name, r.id"
    )
    found: dict[str, list[Protection]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(sql, [list(places), asker, ANY])
        for place, rule, name, command in cursor.fetchall():
            found[place].append(Protection(rule, name, command))
    return found
