"""Links with which a person who was added sets their first password: shown once, good once, and not for long."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import timedelta

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.authority import GrantScope, require_admin_of_everything
from console.accounts.models import Appointment, FirstLink, Person
from console.accounts.roles import Role
from console.accounts.services import add_person, change_password, end_first_links, grant
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.refusals import refusals_on_record
from console.audit.services import record
from console.base.errors import Problem

LIFE = timedelta(hours=48)


def why_not(maker: Person | None, person: Person) -> str:
    """Why the maker may make no link for the person; empty if they may.

    Whoever holds the link is that person until it is used. So only who added them makes one: a link by another admin would let
    that admin approve as somebody whose chain of appointments doesn't lead to them. The database refuses the same.
    """
    if not person.is_active:
        return "The account is closed."
    if person.has_usable_password():
        return f"{person.name} has a password already."
    if maker is None or person.created_by_id != maker.pk:
        return f"Only the person who added {person.name} can make a link for them."
    if person.appointments.filter(vouched_at__isnull=False).exists():
        return f"A command on the machine vouched for {person.name}: nobody else can open their account now."
    return ""


def add_people(actor: Actor, wanted: Mapping[str, Role | None], scope: GrantScope) -> list[tuple[Person, str]]:
    """Adds people by name, each with a role on the scope, if one is given, and a first link's secret: all of them or nobody.

    Raises Problem 400 `invalid` with the `person` whose name is refused, 403 `forbidden`.
    """
    # Asked before the transaction: an admin of everything is refused by none of the acts in it that record refusals themselves.
    with refusals_on_record(actor, Action.PERSON_ADD, ObjectKind.PERSON, "unknown", ", ".join(wanted)):
        require_admin_of_everything(actor)
        with transaction.atomic():
            return [_add(actor, name, role, scope) for name, role in wanted.items()]


def _add(actor: Actor, name: str, role: Role | None, scope: GrantScope) -> tuple[Person, str]:
    try:
        person = add_person(actor, name, None)
    except Problem as problem:
        if problem.status != 400:
            raise
        raise Problem(400, problem.code, problem.detail, person=name) from None
    if role:
        grant(actor, person, role, scope)
    return person, _made(actor, person)


def make(actor: Actor, person: Person) -> str:
    """A new link's secret, to be shown once; an earlier link ends. It lives for LIFE.

    Raises Problem 403 `forbidden`, 409 `wrong_state` with the reason of `why_not`.
    """
    with (
        refusals_on_record(actor, Action.PERSON_CHANGE, ObjectKind.PERSON, person.id, person.name),
        transaction.atomic(),
    ):
        return _made(actor, person)


def _made(actor: Actor, person: Person) -> str:
    """The same as a part of an act's transaction: the act records its refusal."""
    secret = secrets.token_urlsafe(32)
    until = timezone.now() + LIFE
    require_admin_of_everything(actor)
    held = Person.objects.select_for_update().get(pk=person.pk)
    maker = actor.person
    reason = why_not(maker, held)
    if maker is None or reason:
        raise Problem(409, "wrong_state", f"{reason} Nothing was changed.")
    after = {"first_link_until": until.isoformat()}
    record(actor, Action.PERSON_CHANGE, ObjectKind.PERSON, person.id, person.name, after=after)
    end_first_links(person)
    FirstLink.objects.create(person=person, secret_sha256=_sha256(secret), made_by=maker, expires_at=until)
    return secret


def holder(secret: str) -> Person | None:
    """Whose first password the secret may set now; None for a link that doesn't work (any more)."""
    link = _open(secret).first()
    return link.person if link else None


def use(actor: Actor, secret: str, password: str) -> Person:
    """Sets the first password of the link's person and ends the link.

    Raises Problem 400 `invalid` for a weak password, 409 `wrong_state` for a link that isn't open.
    """
    with transaction.atomic():
        # Locked first, as by every other act on a person: what ended the link meanwhile is seen by the statement after it.
        people = Person.objects.select_for_update(of=("self",))
        list(people.filter(first_links__secret_sha256=_sha256(secret)))
        link = _open(secret).first()
        if link is None:
            raise Problem(409, "wrong_state", "This link doesn’t work any more. Nothing was changed.")
        change_password(actor, link.person, password)
    return link.person


def _open(secret: str) -> QuerySet[FirstLink]:
    """The link, while it works: also not for who has a password meanwhile, or was vouched for."""
    links = FirstLink.objects.select_related("person").filter(secret_sha256=_sha256(secret), ended_at=None)
    vouched = Appointment.objects.filter(person=OuterRef("person"), vouched_at__isnull=False)
    passwordless = links.filter(person__password__startswith=UNUSABLE_PASSWORD_PREFIX)
    return passwordless.filter(~Exists(vouched), expires_at__gt=Now(), person__is_active=True)


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
