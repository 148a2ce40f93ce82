"""Who appointed whom: the database decides who is independent (`accounts_may_judge`), this module explains why a person isn't."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from django.db import connection
from django.db.models import BooleanField, F, Func, QuerySet, Value

from console.accounts.authority import GrantScope, covers, root_of
from console.accounts.models import Appointment, Grant, Person
from console.accounts.roles import Role
from console.base.machine import machine_command

_LINE = """
with recursive line(id, via, role) as (
    select %s::uuid, null::uuid, ''::varchar
    union
    select a.by_id, a.person_id, a.role from line join accounts_appointment a on a.person_id = line.id
    where a.by_id is not null and a.vouched_at is null and a.role in ('', 'admin')
)
select line.id, line.via, line.role, p.name from line join accounts_person p on p.id = line.id
order by line.role, p.name
"""


@dataclass(frozen=True, slots=True)
class AppointmentLink:
    """One appointment in words: who did what for whom."""

    by: str
    person: str
    role: str

    def __str__(self) -> str:
        if not self.role:
            return f"{self.by} added {self.person}"
        return f"{self.by} gave {self.person} the role {self.role}"


Chain = tuple[AppointmentLink, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why one person's decision on another's request doesn't count, and whom to vouch for on the machine to change that."""

    chain: Chain
    vouch_for: str

    @property
    def why(self) -> str:
        """The appointments, from the top down, as one sentence."""
        return f"{', and '.join(map(str, self.chain))}."

    @property
    def remedy(self) -> str:
        """How to resolve it, shown before the command."""
        return f"If {self.vouch_for} is an independent person, vouch for them once on the machine that runs Levee:"

    @property
    def command(self) -> str:
        return machine_command(f"person vouch {self.vouch_for}")


def may_judge(judge: Person, author: Person, role: Role, scope: GrantScope) -> bool:
    """Whether the judge may decide the author's requests on the scope, answered by the database."""
    with connection.cursor() as cursor:
        sql = "select accounts_may_judge(%s, %s, %s, %s, %s)"
        cursor.execute(sql, [judge.pk, author.pk, role.value, root_of(scope), scope.table_id])
        return bool(cursor.fetchone()[0])


def independent_of(person: Person, other: str) -> Func:
    """An expression: whether the database takes the person and the one in this field for independent of each other."""
    return Func(Value(person.pk), F(other), function="accounts_independent", output_field=BooleanField())


def are_independent(one: Person, other: Person) -> bool:
    """Whether nobody stands above both, answered by the database."""
    return Person.objects.filter(independent_of(one, "pk"), pk=other.pk).exists()


def who_may_judge(judges: Iterable[uuid.UUID], author: Person, role: Role, scope: GrantScope) -> frozenset[uuid.UUID]:
    """Those of the people who may decide the author's requests on the scope, answered by the database at once."""
    with connection.cursor() as cursor:
        sql = "select id from unnest(%s::uuid[]) id where accounts_may_judge(id, %s, %s, %s, %s)"
        cursor.execute(sql, [list(judges), author.pk, role.value, root_of(scope), scope.table_id])
        return frozenset(pk for (pk,) in cursor.fetchall())


def whom_may_judge(judge: Person, authors: Iterable[uuid.UUID], role: Role, scope: GrantScope) -> frozenset[uuid.UUID]:
    """Those of the people whose requests on the scope the judge may decide, answered by the database at once."""
    with connection.cursor() as cursor:
        sql = "select id from unnest(%s::uuid[]) id where accounts_may_judge(%s, id, %s, %s, %s)"
        cursor.execute(sql, [list(authors), judge.pk, role.value, root_of(scope), scope.table_id])
        return frozenset(pk for (pk,) in cursor.fetchall())


def doubt_about(judge: Person, author: Person, role: Role, scope: GrantScope) -> Doubt | None:
    """Why the judge's decision doesn't count; None if it does, or if they don't hold the role at all."""
    if judge.pk == author.pk or may_judge(judge, author, role, scope):
        return None
    return Doubts(judge).about(author, role, scope)


class Doubts:
    """Why one judge's decisions on many people's requests don't count; queries each person's line, and the judge's roles, once."""

    def __init__(self, judge: Person) -> None:
        self.judge = judge
        self.chains: Callable[[Person], dict[uuid.UUID, Chain]] = cache(chains_to)
        self._known: dict[tuple[uuid.UUID, Role, GrantScope], Doubt | None] = {}

    @cached_property
    def given(self) -> list[tuple[Person, Grant]]:
        """The judge's grants that a person gave and nobody has vouched for, each with that person, oldest first."""
        grants = {grant.pk: grant for grant in self.judge.granted}
        given = appointments_of([self.judge.pk]).filter(grant_id__in=grants, by__isnull=False, vouched_at=None)
        return [(each.by, grants[each.grant_id]) for each in given if each.by is not None and each.grant_id is not None]

    def in_common(self, other: Person) -> str:
        """The appointments that one person above both has made, from the top down, as a sentence; empty if there is no such person."""
        doubt = _common(self, other)
        return doubt.why if doubt else ""

    def about(self, author: Person, role: Role, scope: GrantScope, root_id: uuid.UUID | None = None) -> Doubt | None:
        """The doubt about an author whom the judge may not judge; None if the judge doesn't hold the role at all.

        `root_id` is the root of the scope's table, for callers that know it; without it, the database is asked.
        """
        case = (author.pk, role, scope)
        if case not in self._known:
            self._known[case] = _common(self, author) or _by_role(self, author, role, scope, root_id)
        return self._known[case]


def _common(doubts: Doubts, author: Person) -> Doubt | None:
    """The person above both, with the shortest way down to each."""
    ours, theirs = doubts.chains(doubts.judge), doubts.chains(author)
    shared = sorted(ours.keys() & theirs.keys(), key=lambda pk: (len(ours[pk]) + len(theirs[pk]), str(pk)))
    if not shared:
        return None
    top = shared[0]
    # The person at the top needs no vouching; if that is the judge, the other one does.
    return Doubt((*theirs[top], *ours[top]), (ours[top][-1] if ours[top] else theirs[top][-1]).person)


def _by_role(doubts: Doubts, author: Person, role: Role, scope: GrantScope, root_id: uuid.UUID | None) -> Doubt | None:
    """The doubt from the role's giver: a person of the author's line, or one who shares that line."""
    held = [(giver, grant) for giver, grant in doubts.given if grant.role == role.value]
    if not held:
        return None
    judge, theirs, root = doubts.judge, doubts.chains(author), root_id or root_of(scope)
    for giver, grant in held:
        if covers(grant, scope, root) and (tops := theirs.keys() & doubts.chains(giver).keys()):
            above = min((theirs[top] for top in tops), key=len)
            return Doubt((*above, AppointmentLink(giver.name, judge.name, role.value)), judge.name)
    return None


def appointments_of(people: Iterable[uuid.UUID]) -> QuerySet[Appointment]:
    """The recorded appointments of these people, oldest first."""
    return Appointment.objects.filter(person__in=people).select_related("by", "person").order_by("id")


def chains_to(person: Person) -> dict[uuid.UUID, Chain]:
    """Everyone above a person, with the shortest way down to that person, who is included with an empty way."""
    with connection.cursor() as cursor:
        cursor.execute(_LINE, [person.pk])
        rows = cursor.fetchall()
    names = {pk: name for pk, _, _, name in rows}
    chains: dict[uuid.UUID, Chain] = {person.pk: ()}
    below = [person.pk]
    for via in below:  # grows while it is walked: breadth first
        for pk, under, role, _ in rows:
            if under == via and pk not in chains:
                chains[pk] = (AppointmentLink(names[pk], names[via], role), *chains[via])
                below.append(pk)
    return chains


def appointed_by(given: Iterable[Appointment]) -> str:
    """How a person came to decide here, from their recorded appointments: who added them, and who gave them which role."""
    texts = (_in_words(a) for a in given if a.role in ("", Role.APPROVER.value, Role.ADMIN.value))
    return ", ".join(dict.fromkeys(texts))


def _in_words(given: Appointment) -> str:
    by = given.by.name if given.by else "a command on the machine"
    words = f"made {given.role} by {by}" if given.role else f"added by {by}"
    return f"{words} and vouched for" if given.vouched_at else words
