"""The two colleagues of the first story: who asks, and who approves what that one asks for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db.models import Exists, OuterRef, Q, QuerySet

from console.accounts.appointments import Doubt, are_independent, doubt_about, independent_of, who_may_judge
from console.accounts.authority import GrantScope
from console.accounts.models import FirstLink, Grant, Person
from console.accounts.roles import Permission, Role
from console.accounts.services import is_unclaimed
from console.base.machine import machine_command
from tables.models import Root
from tables.rules.sample_lake import ROOT_NAME

MOST = 20  # approvers who are asked about
ASKER, APPROVER = "asker", "approver"
ROLES = {ASKER: Role.OPERATOR, APPROVER: Role.APPROVER}
DOES = {ASKER: "asks", APPROVER: "approves"}
CLAIM_FIRST = "First, {name} opens the link and sets a password. Who added them can replace a lost link under People."
ADD = "person add NAME --role {role} --on root:{root} --password-stdin"


@dataclass(frozen=True, slots=True)
class Approver:
    """Who can approve the story's requests: a name, or why nobody's approval counts yet.

    `unclaimed`: the approver, or whoever is to be vouched for, has to set a password first. `helper` is an admin whose approver would
    count without a command; `is_you`: the reader.
    """

    name: str = ""
    doubt: Doubt | None = None
    unclaimed: bool = False
    helper: str = ""
    is_you: bool = False

    @property
    def command(self) -> str:
        """The command that lets the approval count, to be run on Levee's machine."""
        return self.doubt.command if self.doubt and not self.unclaimed else ""

    @property
    def unclaimed_name(self) -> str:
        """Who has to set a password first; empty if nobody has."""
        return (self.doubt.vouch_for if self.doubt else self.name) if self.unclaimed else ""

    @property
    def claim_first(self) -> str:
        """What the approver, or whoever is to be vouched for, has to do before; empty if nothing."""
        return CLAIM_FIRST.format(name=self.unclaimed_name) if self.unclaimed else ""

    @property
    def known(self) -> bool:
        """Whether somebody approves, at the latest once a command on the machine has vouched."""
        return bool(self.name) or self.doubt is not None


@dataclass(frozen=True, slots=True)
class Team:
    """Who asks, if anybody does, and who approves. `may_ask`: who asked may have lost the role or the account since.

    `helper` is another admin who is to add the one that is missing, or the second of both: whom the reader adds wouldn't be independent
    of the other one before a command on the machine has vouched. Empty where the reader's own do, or where there is no such admin.
    """

    asker: Person | None
    approver: Approver
    may_ask: bool = True
    helper: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Which of the two there isn't yet."""
        return (*(() if self.asker else (ASKER,)), *(() if self.approver.known else (APPROVER,)))

    @property
    def offered(self) -> tuple[str, ...]:
        """Which of them the reader is asked to add: who asks, where another admin adds who approves."""
        return (ASKER,) if self.helper and len(self.missing) > 1 else self.missing

    @property
    def commands(self) -> list[tuple[str, str]]:
        """For each who is missing, a label and the command that adds them, to be run on Levee's machine."""
        return [
            (f"Command that adds who {DOES[each]}", machine_command(ADD.format(role=ROLES[each].value, root=ROOT_NAME)))
            for each in self.missing
        ]


def team_of(root: Root, reader: Person, author: Person | None, *, leads: bool) -> Team:
    """The team as the reader meets it. Who has asked already (`author`) is the asker.

    Before that, who leads (adds people) looks for a colleague, and everybody else who may ask does it themselves. The approver is
    another active person with the role on the sample: the newest whose approval of the asker's requests counts; else the newest,
    with the doubt that a command on the machine resolves. Both count before they have set a password.
    """
    asker = author or (_colleague(root, reader) if leads else reader)
    may_ask = author is None or author.scopes(Permission.JOB_REQUEST).covers_root(root.pk)
    approver = _approver(root, asker, reader if leads else None)
    helper = _helper(reader, asker, approver) if leads else ""
    return Team(asker, approver, may_ask, helper)


def _helper(reader: Person, asker: Person | None, approver: Approver) -> str:
    """Another admin who is to add the colleague that is missing, so that the two are independent of each other."""
    if asker is not None and approver.known:
        return ""
    there = asker or Person.objects.filter(name=approver.name).first()
    if there is None:
        return _admin_beside(reader, but=(reader,))
    return "" if are_independent(reader, there) else _admin_beside(there, but=(reader, there))


def _admin_beside(person: Person, but: Iterable[Person]) -> str:
    """The name of an active admin of everything who shares nobody above with this person, the newest one; empty without one."""
    held = Grant.objects.filter(scope=Grant.Scope.EVERYTHING, role=Role.ADMIN, person__is_active=True)
    claimed = held.exclude(person__password__startswith=UNUSABLE_PASSWORD_PREFIX).exclude(person__in=but)
    found = claimed.filter(independent_of(person, "person")).order_by("-granted_at")
    return found.values_list("person__name", flat=True).first() or ""


def _held(root: Root, role: Role) -> QuerySet[Grant]:
    """The role on the sample, of active people who sign in, newest first: accounts for programs take no part."""
    invited = Exists(FirstLink.objects.filter(person=OuterRef("person"), ended_at=None))
    signs_in = ~Q(person__password__startswith=UNUSABLE_PASSWORD_PREFIX) | invited
    grants = Grant.objects.filter(Q(scope=Grant.Scope.EVERYTHING) | Q(root=root), role=role, person__is_active=True)
    return grants.filter(signs_in).select_related("person").order_by("-granted_at")


def _colleague(root: Root, reader: Person) -> Person | None:
    """An operator, rather one who doesn't approve."""
    approves = Exists(_held(root, Role.APPROVER).filter(person=OuterRef("person")))
    people = _held(root, Role.OPERATOR).exclude(person=reader).annotate(approves=approves)
    grant = people.order_by("approves", "-granted_at").first()
    return grant.person if grant else None


def _approver(root: Root, asker: Person | None, admin: Person | None) -> Approver:
    """Who approves; `admin` is the reader who may add people."""
    held = _held(root, Role.APPROVER)
    if asker is None:
        first = held.first()
        return _named(first.person if first else None)
    people = [grant.person for grant in held.exclude(person=asker)[:MOST]]
    scope = GrantScope(root_id=root.pk)
    counting = who_may_judge([person.pk for person in people], asker, Role.APPROVER, scope)
    named = next((person for person in people if person.pk in counting), None)
    if named or not people:
        return _named(named)
    doubt = doubt_about(people[0], asker, Role.APPROVER, scope)
    if doubt is None:
        return Approver()
    unclaimed = is_unclaimed(Person.objects.get(name=doubt.vouch_for))
    is_you = admin is not None and admin != asker and are_independent(admin, asker)
    helper = admin.name if admin is not None and is_you else _admin_beside(asker, but=(asker,))
    return Approver(doubt=doubt, unclaimed=unclaimed, helper=helper, is_you=is_you)


def _named(person: Person | None) -> Approver:
    return Approver(person.name, unclaimed=is_unclaimed(person)) if person else Approver()
