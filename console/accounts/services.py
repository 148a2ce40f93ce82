"""Acts on people, grants and tokens: each checks, does and records in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts import attempts
from console.accounts.authentication import new_secret
from console.accounts.authority import EVERYTHING, GrantScope, require_admin_of, require_admin_of_everything
from console.accounts.models import FirstLink, Grant, Person, Token, as_json
from console.accounts.notices import tell
from console.accounts.roles import Role, TokenScope
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.refusals import refusals_on_record
from console.audit.services import record
from console.base.errors import Problem, broken

TOKEN_LIFE = timedelta(days=365)
APPROVING_TOKEN_LIFE = timedelta(days=90)
FIRST_NAME = "admin"
UNCLAIMED = "{name} has to set a password first: whoever has their link, or the password that they were given, is {name} until then."
NAME_RULES = {  # the database's rules about names, in words
    "person_name_unique": "There is already a person with this name.",
    "person_name_plain": "A name has only letters, digits and . _ @ + -, and begins with a letter or a digit.",
}
GUARDS = frozenset({Role.APPROVER, Role.ADMIN})  # who may decide, and who may say who does


def first_person() -> str | None:
    """Makes the first person, `admin`, with admin, operator and auditor on everything. Returns the password, None if a person exists.

    The password is random and must be changed at the first sign-in.
    """
    with transaction.atomic():
        if Person.objects.exists():
            return None
        password = secrets.token_urlsafe(12)
        actor = Actor.system("up")
        person = add_person(actor, FIRST_NAME, password, must_change_password=True)
        for role in (Role.ADMIN, Role.OPERATOR, Role.AUDITOR):
            grant(actor, person, role, EVERYTHING)
    return password


def add_person(actor: Actor, name: str, password: str | None, *, must_change_password: bool = False) -> Person:
    """Adds a person; without a password they can use tokens only. Raises Problem 400 `invalid`, 403 `forbidden`."""
    with refusals_on_record(actor, Action.PERSON_ADD, ObjectKind.PERSON, "unknown", name):
        require_admin_of_everything(actor)
    person = Person(name=name, created_by=actor.person, must_change_password=must_change_password)
    set_password(person, password)
    try:
        # Its constraints are the database's to check: Django's own refusal would name them.
        person.full_clean(exclude=["password", "created_by"], validate_constraints=False)
    except ValidationError as error:
        raise _refused_name("; ".join(error.messages)) from None
    try:
        with transaction.atomic():
            record(actor, Action.PERSON_ADD, ObjectKind.PERSON, person.id, name, after={"name": name})
            person.save(force_insert=True)
    except IntegrityError as error:
        words = NAME_RULES.get(broken(error))
        if words is None:
            raise
        raise _refused_name(words) from None
    return person


def _refused_name(text: str) -> Problem:
    return Problem(400, "invalid", text, fields={"name": text})


def vouch(actor: Actor, person: Person) -> int:
    """Vouches, on the machine itself, that a person is independent: earlier changes of their account count as made on the machine.

    Returns how many appointments that ended; a second time changes nothing. Raises Problem 403 `forbidden` except for a command
    on the machine, 409 `wrong_state` while somebody else could still make the account theirs (`is_unclaimed`).
    """
    with (
        refusals_on_record(actor, Action.PERSON_VOUCH, ObjectKind.PERSON, person.id, person.name),
        transaction.atomic(),
    ):
        if actor.person is not None:
            raise Problem(403, "forbidden", "Only a command on the machine that runs Levee can vouch for people.")
        held = Person.objects.select_for_update().get(pk=person.pk)  # no link is made or used meanwhile
        open_ones = person.appointments.filter(by__isnull=False, vouched_at=None)
        givers = sorted(set(open_ones.values_list("by__name", flat=True)))
        if givers and is_unclaimed(held):
            raise Problem(409, "wrong_state", f"{UNCLAIMED.format(name=person.name)} Nothing was changed.")
        if givers:
            before = {"appointed_by": givers}
            event = record(actor, Action.PERSON_VOUCH, ObjectKind.PERSON, person.id, person.name, before=before)
            text = f"A command on the machine vouched for {person.name}, whom {', '.join(givers)} had appointed."
            tell(actor, event, text, about=person)
        return open_ones.update(vouched_at=Now())


def is_unclaimed(person: Person) -> bool:
    """Whether somebody else could still become this person: by an open first link, or with the password that they gave.

    The same holds for an account that nobody can enter yet; one with tokens alone is complete, as only the machine makes those.
    """
    if person.must_change_password or person.first_links.filter(ended_at=None, expires_at__gt=Now()).exists():
        return True
    return not person.has_usable_password() and not person.tokens.exists()


def end_first_links(person: Person) -> None:
    """Ends the person's open first link, if there is one. Part of the act's transaction; the person's row is locked first."""
    FirstLink.objects.filter(person=person, ended_at=None).update(ended_at=Now())


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
    """Sets a new password, no longer requires a change, and ends the person's sessions and first link. Raises Problem 400 `invalid`."""
    set_password(person, password)
    person.must_change_password = False
    with transaction.atomic():
        record(actor, Action.PASSWORD_CHANGE, ObjectKind.PERSON, person.id, person.name)
        person.save(update_fields=["password", "must_change_password"])
        end_first_links(person)
        _end_sessions(person)


def change_own_password(actor: Actor, person: Person, old: str, new: str) -> None:
    """The same, with the old password. Raises Problem 403 `wrong_password`, 429 `too_many_attempts`."""
    _require_password(actor, Action.PASSWORD_CHANGE, person, old)
    change_password(actor, person, new)


def confirm_password(actor: Actor, person: Person, password: str) -> None:
    """Confirms the password in a session. Raises Problem 403 `wrong_password`, 429 `too_many_attempts`."""
    _require_password(actor, Action.SESSION_CONFIRM, person, password)
    record(actor, Action.SESSION_CONFIRM, ObjectKind.PERSON, person.id, person.name)


def _require_password(actor: Actor, action: Action, person: Person, password: str) -> None:
    with refusals_on_record(actor, action, ObjectKind.PERSON, person.id, person.name):
        if not attempts.check_password(actor, person, password):
            raise Problem(403, "wrong_password", "Wrong password. Nothing was changed.")


def _end_sessions(person: Person) -> None:
    """Ends every session that the person has. Part of the act's transaction."""
    Person.objects.filter(pk=person.pk).update(access_epoch=F("access_epoch") + 1)
    person.refresh_from_db(fields=["access_epoch"])


def grant(actor: Actor, person: Person, role: Role, scope: GrantScope) -> Grant:
    """Grants a role on a scope; the same grant twice is one. Ends the person's sessions. Raises Problem 403 `forbidden`."""
    wanted = {"person": person, "role": role, "scope": scope.kind, "root_id": scope.root_id, "table_id": scope.table_id}
    with refusals_on_record(actor, Action.GRANT_ADD, ObjectKind.PERSON, person.id, person.name), transaction.atomic():
        require_admin_of(actor, scope)
        made, fresh = Grant.objects.get_or_create(**wanted, defaults={"granted_by": actor.person})
        if fresh:
            event = record(actor, Action.GRANT_ADD, ObjectKind.PERSON, person.id, person.name, after=as_json(made))
            if role in GUARDS and actor.person is not None:
                text = f"{actor.name} gave {person.name} the role {role.value} on {made.scope_text}."
                tell(actor, event, text, about=person, scope=scope)
            _end_sessions(person)
    person.__dict__.pop("granted", None)
    return made


def remove_grant(actor: Actor, held: Grant) -> None:
    """Takes a role away, and ends the person's sessions.

    Raises Problem 403 `forbidden`, and 409 `last_admin` for the last one who could give roles everywhere.
    """
    person = held.person
    with (
        refusals_on_record(actor, Action.GRANT_REMOVE, ObjectKind.PERSON, person.id, person.name),
        transaction.atomic(),
    ):
        require_admin_of(actor, GrantScope(root_id=held.root_id, table_id=held.table_id))
        _keep_an_admin(without_grant=held)
        if Grant.objects.filter(pk=held.pk).exists():
            record(actor, Action.GRANT_REMOVE, ObjectKind.PERSON, person.id, person.name, before=as_json(held))
            Grant.objects.filter(pk=held.pk).delete()
            _end_sessions(person)
    person.__dict__.pop("granted", None)


def set_active(actor: Actor, person: Person, active: bool) -> None:
    """Opens or closes an account; closing it ends tokens, sessions and the first link at once.

    Raises Problem 403 `forbidden`, 409 `last_admin`.
    """
    with (
        refusals_on_record(actor, Action.PERSON_CHANGE, ObjectKind.PERSON, person.id, person.name),
        transaction.atomic(),
    ):
        require_admin_of_everything(actor)
        if not active:
            _keep_an_admin(without_person=person)
        if Person.objects.filter(pk=person.pk, is_active=not active).exists():
            before, after = {"is_active": not active}, {"is_active": active}
            record(actor, Action.PERSON_CHANGE, ObjectKind.PERSON, person.id, person.name, before=before, after=after)
            Person.objects.filter(pk=person.pk).update(is_active=active)
            end_first_links(person)
            _end_sessions(person)
    person.is_active = active


def _keep_an_admin(*, without_grant: Grant | None = None, without_person: Person | None = None) -> None:
    """Keeps at least one admin of everything. Two admins can't remove each other at once."""
    held = Grant.objects.filter(role=Role.ADMIN, scope=Grant.Scope.EVERYTHING)
    # Locked first and counted by a statement of its own: whoever waited here counts what the other one has left.
    list(held.select_for_update().order_by("pk").values_list("pk"))
    admins = left = held.filter(person__is_active=True)
    if without_grant is not None:
        left = left.exclude(pk=without_grant.pk)
    if without_person is not None:
        left = left.exclude(person=without_person)
    if admins.exists() and not left.exists():
        detail = "This is the last admin of everything; give another person that role first. Nothing was changed."
        raise Problem(409, "last_admin", detail)


def add_token(
    actor: Actor, person: Person, label: str, scopes: Iterable[TokenScope], life: timedelta = TOKEN_LIFE
) -> tuple[Token, str]:
    """A new token and its text, which is shown once. A token that approves lives 90 days at most."""
    prefix, digest, text = new_secret()
    return issue_token(actor, person, label, scopes, life, (prefix, digest)), text


def issue_token(
    actor: Actor,
    person: Person,
    label: str,
    scopes: Iterable[TokenScope],
    life: timedelta,
    secret: tuple[str, str],
    **on_record: str,
) -> Token:
    """The same with a secret that is made already: its prefix and sha256. `on_record` is what the event says beside the token."""
    wanted = sorted(set(scopes)) or [TokenScope.READ, TokenScope.REQUEST]
    if TokenScope.APPROVE in wanted:
        life = min(life, APPROVING_TOKEN_LIFE)
    prefix, digest = secret
    token = Token(
        person=person,
        label=label,
        prefix=prefix,
        secret_sha256=digest,
        scopes=list(wanted),
        expires_at=timezone.now() + life,
    )
    with transaction.atomic():
        after = {"label": label, "scopes": list(wanted), "expires_at": token.expires_at.isoformat(), **on_record}
        record(actor, Action.TOKEN_ADD, ObjectKind.TOKEN, token.id, label, after=after)
        token.save(force_insert=True)
    return token


def revoke_token(actor: Actor, token: Token) -> None:
    """Ends a token at once; doing it twice changes nothing."""
    with transaction.atomic():
        if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()):
            record(actor, Action.TOKEN_REVOKE, ObjectKind.TOKEN, token.id, token.label)
