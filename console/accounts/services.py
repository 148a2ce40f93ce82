"""Acts on people, grants and tokens: each checks, does and records in one transaction."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.authentication import new_secret
from console.accounts.models import Grant, Person, Token, as_json
from console.accounts.roles import Role, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.errors import Problem

TOKEN_LIFE = timedelta(days=365)
APPROVING_TOKEN_LIFE = timedelta(days=90)
FIRST_NAME = "admin"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a grant holds; at most one of the two ids is set, neither means everything."""

    root_id: uuid.UUID | None = None
    table_id: uuid.UUID | None = None

    @property
    def kind(self) -> Grant.Scope:
        if self.root_id:
            return Grant.Scope.ROOT
        return Grant.Scope.TABLE if self.table_id else Grant.Scope.EVERYTHING


EVERYTHING = Scope()


def first_person() -> str | None:
    """Makes the first person, `admin`, with admin and operator on everything. Returns the password, None when somebody exists.

    The password is random and must be changed at the first sign-in.
    """
    with transaction.atomic():
        if Person.objects.exists():
            return None
        password = secrets.token_urlsafe(12)
        actor = Actor.system("up")
        person = add_person(actor, FIRST_NAME, password, must_change_password=True)
        for role in (Role.ADMIN, Role.OPERATOR):
            grant(actor, person, role, EVERYTHING)
    return password


def add_person(actor: Actor, name: str, password: str | None, *, must_change_password: bool = False) -> Person:
    """Adds a person; without a password they can use tokens only. Raises Problem 400 `invalid`."""
    person = Person(name=name, created_by=actor.person, must_change_password=must_change_password)
    set_password(person, password)
    try:
        person.full_clean(exclude=["password", "created_by"])
    except ValidationError as error:
        raise Problem(400, "invalid", "; ".join(error.messages)) from None
    with transaction.atomic():
        record(actor, Action.PERSON_ADD, ObjectKind.PERSON, person.id, name, after={"name": name})
        person.save(force_insert=True)
    return person


def set_password(person: Person, password: str | None) -> None:
    """Sets the password on the object, without saving. Raises Problem 400 `invalid` for a weak one."""
    if password is None:
        person.set_unusable_password()
        return
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise Problem(400, "invalid", " ".join(error.messages), fields={"password": " ".join(error.messages)}) from None
    person.set_password(password)


def change_password(actor: Actor, person: Person, password: str) -> None:
    """A new password; ends the duty to change it. Raises Problem 400 `invalid`."""
    set_password(person, password)
    person.must_change_password = False
    with transaction.atomic():
        record(actor, Action.PASSWORD_CHANGE, ObjectKind.PERSON, person.id, person.name)
        person.save(update_fields=["password", "must_change_password"])


def grant(actor: Actor, person: Person, role: Role, scope: Scope) -> Grant:
    """Grants a role on a scope; the same grant twice is one."""
    wanted = {"person": person, "role": role, "scope": scope.kind, "root_id": scope.root_id, "table_id": scope.table_id}
    with transaction.atomic():
        made, fresh = Grant.objects.get_or_create(**wanted, defaults={"granted_by": actor.person})
        if fresh:
            record(actor, Action.GRANT_ADD, ObjectKind.PERSON, person.id, person.name, after=as_json(made))
    person.__dict__.pop("granted", None)
    return made


def remove_grant(actor: Actor, held: Grant) -> None:
    """Takes a role away. Raises Problem 409 `last_admin` for the last one who could give roles."""
    with transaction.atomic():
        _keep_an_admin(without_grant=held)
        if Grant.objects.filter(pk=held.pk).exists():
            record(
                actor, Action.GRANT_REMOVE, ObjectKind.PERSON, held.person.id, held.person.name, before=as_json(held)
            )
            Grant.objects.filter(pk=held.pk).delete()


def set_active(actor: Actor, person: Person, active: bool) -> None:
    """Lets a person in, or keeps them out at once, tokens and sessions included. Raises Problem 409 `last_admin`."""
    with transaction.atomic():
        if not active:
            _keep_an_admin(without_person=person)
        if Person.objects.filter(pk=person.pk, is_active=not active).exists():
            before, after = {"is_active": not active}, {"is_active": active}
            record(actor, Action.PERSON_CHANGE, ObjectKind.PERSON, person.id, person.name, before=before, after=after)
            Person.objects.filter(pk=person.pk).update(is_active=active)
    person.is_active = active


def _keep_an_admin(*, without_grant: Grant | None = None, without_person: Person | None = None) -> None:
    """Somebody must stay who can give roles. The rows are locked, so that two admins can't remove each other at once."""
    held = Grant.objects.filter(role=Role.ADMIN, scope=Grant.Scope.EVERYTHING, person__is_active=True)
    admins = list(held.select_for_update(of=("self",)).order_by("pk"))
    left = [g for g in admins if (without_grant is None or g.pk != without_grant.pk)]
    left = [g for g in left if without_person is None or g.person_id != without_person.pk]
    if admins and not left:
        detail = "This is the last admin of everything; make somebody else one first. Nothing was changed."
        raise Problem(409, "last_admin", detail)


def add_token(
    actor: Actor, person: Person, label: str, scopes: Iterable[TokenScope], life: timedelta = TOKEN_LIFE
) -> tuple[Token, str]:
    """A new token and its text, which is shown once. A token that approves lives 90 days at most."""
    wanted = sorted(set(scopes)) or [TokenScope.READ, TokenScope.REQUEST]
    if TokenScope.APPROVE in wanted:
        life = min(life, APPROVING_TOKEN_LIFE)
    prefix, digest, text = new_secret()
    token = Token(
        person=person,
        label=label,
        prefix=prefix,
        secret_sha256=digest,
        scopes=list(wanted),
        expires_at=timezone.now() + life,
    )
    with transaction.atomic():
        after = {"label": label, "scopes": list(wanted), "expires_at": token.expires_at.isoformat()}
        record(actor, Action.TOKEN_ADD, ObjectKind.TOKEN, token.id, label, after=after)
        token.save(force_insert=True)
    return token, text


def revoke_token(actor: Actor, token: Token) -> None:
    """Ends a token at once; doing it twice changes nothing."""
    with transaction.atomic():
        if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()):
            record(actor, Action.TOKEN_REVOKE, ObjectKind.TOKEN, token.id, token.label)
