"""Who could approve what a person requests, known before there is a request; and why others with the role couldn't."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Value

from console.accounts.appointments import Doubt, appointments_of, doubt_about, who_may_judge, whom_may_judge
from console.accounts.authority import GrantScope, holders_on
from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from jobs.domain.consequences import listed
from jobs.domain.policy import APPROVER
from jobs.policy.read_tables import ReadTable

MOST = 50  # people with the role who are asked about
NAMED = 3
PLACES = 5


@dataclass(frozen=True, slots=True)
class Candidates:
    """Of the people with the role on the place: those whose approval counts, and the doubts about the first others.

    `needed` is how many approvals a request needs; `others` how many people have the role and don't count.
    """

    role: str
    needed: int
    able: Sequence[str]
    others: int = 0
    also: str = ""  # another table whose approver they have to be as well
    doubts: Sequence[tuple[str, Doubt]] = ()

    @property
    def text(self) -> str:
        """Who can approve it, in a sentence."""
        if not self.able:
            return f"Nobody can approve it yet: {self._why_nobody}"
        who = listed(self.able, NAMED)
        if len(self.able) >= self.needed:
            return f"It can be approved by {who}."
        return f"It needs {self.needed} approvals, and can be approved only by {who}."

    @property
    def _why_nobody(self) -> str:
        if not self.others:
            return f"no other person has the role {self.role} {self._where}. An admin gives it under People."
        people = "1 other person has" if self.others == 1 else f"{self.others} other people have"
        return f"{people} the role {self.role} {self._where}, but no such approval would count."

    @property
    def _where(self) -> str:
        return f"here and on {self.also}" if self.also else "here"


def candidates_for(
    authors: Sequence[Person], role: str, place: GrantScope, needed: int, other: ReadTable | None = None
) -> Candidates:
    """For what these people request on the place: its author, or everybody who shaped it. The database decides who counts.

    `other` is a table that it takes rows from: an approver of both decides.
    """
    wanted, places = Role(role), [place] if other is None else [place, other.place]
    also = "" if other is None else other.name
    holders = holders_on(wanted, place).exclude(pk__in=[author.pk for author in authors])
    if other is not None:
        holders = holders.filter(pk__in=holders_on(wanted, other.place).values("pk"))
    people = list(holders.order_by("name")[:MOST])
    counting = frozenset(person.pk for person in people)
    for author, where in product(authors, places):
        counting = who_may_judge(counting, author, wanted, where)
    able = [person.name for person in people if person.pk in counting]
    others = [person for person in people if person.pk not in counting]
    if len(able) >= needed:
        return Candidates(role, needed, able, len(others), also)
    doubts = ((each.name, _doubt(each, authors, wanted, places)) for each in others[:NAMED])
    known = [(name, doubt) for name, doubt in doubts if doubt is not None]
    return Candidates(role, needed, able, len(others), also, known)


def _doubt(judge: Person, authors: Sequence[Person], role: Role, places: Sequence[GrantScope]) -> Doubt | None:
    cases = product(authors, places)
    return next((doubt for author, place in cases if (doubt := doubt_about(judge, author, role, place))), None)


@dataclass(frozen=True, slots=True)
class RequestPlace:
    """Where a person requests: the place in words, and who can approve it there."""

    where: str
    candidates: Candidates


def approvers_of(person: Person) -> list[RequestPlace]:
    """Who can approve what the person requests, by the places where they have the role to request; PLACES at most."""
    return [
        RequestPlace(grant.scope_text, candidates_for([person], Role.APPROVER.value, _scope(grant), 1))
        for grant in _grants(person, Role.OPERATOR)
    ]


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Requesters on a place whose requests a person can't approve there, with the reason that the first of them has."""

    where: str
    names: Sequence[str]
    doubt: Doubt

    @property
    def who(self) -> str:
        return listed(self.names, NAMED)


def uncounted_for(judge: Person) -> list[Uncounted]:
    """Whose requests the person can't approve though they have the role there, by place; PLACES at most."""
    found = (_uncounted(judge, grant) for grant in _grants(judge, Role.APPROVER))
    return [each for each in found if each is not None]


def uncounted_among(judge: Person, requesters: QuerySet[Person]) -> QuerySet[Person]:
    """Those of the requesters for whose requests the person's approval counts nowhere: what they request waits for others.

    The same question as `uncounted_for` asks, for all places at once and lazily, so that a list can leave them out in its own query. The
    database asks once for each requester, not for each request: the answer costs a millisecond.
    """
    given = appointments_of([judge.pk]).filter(
        role=APPROVER, grant_id__in=judge.grants.filter(role=APPROVER).values("id")
    )
    by = _independent(F("by"), OuterRef("pk"))
    independent = given.filter(Q(by=None) | Q(vouched_at__isnull=False) | Q(by))
    return requesters.exclude(Q(_independent(Value(judge.pk), F("pk"))) & Exists(independent)).order_by()


def _independent(person: F | Value, author: F | OuterRef) -> Func:
    return Func(person, author, function="accounts_independent", output_field=BooleanField())


def _uncounted(judge: Person, grant: Grant) -> Uncounted | None:
    place = _scope(grant)
    authors = list(holders_on(Role.OPERATOR, place).exclude(pk=judge.pk).order_by("name")[:MOST])
    if not authors:
        return None
    judged = whom_may_judge(judge, [each.pk for each in authors], Role.APPROVER, place)
    others = [each for each in authors if each.pk not in judged]
    doubt = doubt_about(judge, others[0], Role.APPROVER, place) if others else None
    return Uncounted(grant.scope_text, [each.name for each in others], doubt) if doubt else None


def _grants(person: Person, role: Role) -> Sequence[Grant]:
    grants = person.grants.filter(role=role.value).select_related("root", "table").order_by("granted_at", "pk")
    return list(grants[:PLACES])


def _scope(grant: Grant) -> GrantScope:
    return GrantScope(root_id=grant.root_id, table_id=grant.table_id)
