"""Signing in a program without giving it a password: it shows a short code, which a signed-in person confirms in a browser.

The idea is RFC 8628's. The program's token is made when it asks and works only once the code is confirmed, so nothing secret
is handed over afterwards: who guesses or steals a code could give the waiting program rights of their own, and gets nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from console.accounts import attempts
from console.accounts.attempts import PasswordSource
from console.accounts.authentication import new_secret
from console.accounts.models import Person, SignInRequest, Token
from console.accounts.roles import TokenScope
from console.accounts.services import issue_token
from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem

LIFE = timedelta(minutes=10)
TOKEN_LIFE = timedelta(days=90)
KEPT = timedelta(days=1)  # after it has expired
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so no words; none that looks like another or like a digit
LENGTH = 8  # 25.6 thousand million codes
MOST_BEGUN = 30  # from one network, in the window of attempts
MOST_TRIED = 10  # wrong codes of one person, in the same
MOST_WAITING = 1_000
UNKNOWN = "No program waits with this code. Look at it again in the terminal: it holds for ten minutes, and once."


def begin(machine: str, scopes: Iterable[TokenScope], address: str) -> tuple[SignInRequest, str, str]:
    """A program asks: its row, the code for the person, and the token, which doesn't work yet.

    Raises Problem 429 `too_many_attempts` for too many from one network, 503 `busy` while too many wait in all.
    """
    source = PasswordSource(f"programs:{attempts.network_of(address)}", most=MOST_BEGUN, what="sign-ins of programs")
    attempts.admit("", source)
    SignInRequest.objects.filter(expires_at__lt=Now() - KEPT).delete()
    if _waiting().count() >= MOST_WAITING:
        raise Problem(503, "busy", "Too many programs wait to be signed in. Try again in some minutes.", retry_after=60)
    code = "".join(secrets.choice(LETTERS) for _ in range(LENGTH))
    prefix, digest, text = new_secret()
    made = SignInRequest.objects.create(
        code_hmac=_hmac(code),
        machine=machine,
        address=address[:64],
        scopes=sorted(scope.value for scope in set(scopes)),
        prefix=prefix,
        secret_sha256=digest,
        expires_at=Now() + LIFE,  # by the database’s clock, which judges it
    )
    made.refresh_from_db(fields=["expires_at"])
    return made, spelled(code), text


def spelled(code: str) -> str:
    """The code as people read it."""
    return f"{code[:4]}-{code[4:]}"


def waiting_with(person: Person, code: str) -> SignInRequest:
    """The program that waits with the code, as a person types it. Raises Problem 404 `not_found`, 429 `too_many_attempts`."""
    attempt = attempts.admit(person.name, PasswordSource(f"codes:{person.pk}", most=MOST_TRIED, what="wrong codes"))
    found = _waiting().filter(code_hmac=_hmac(letters(code))).first()
    if found is None:
        raise Problem(404, "not_found", UNKNOWN)
    attempt.delete()  # a right code is no wrong one; it forgives none, since anybody has right ones of their own
    return found


def grant(actor: Actor, person: Person, asked: SignInRequest) -> Token:
    """Makes the program's token one of the person's: from now on it works. Raises Problem 404 `not_found` for one that waits no more."""
    with transaction.atomic():
        held = _held(asked)
        scopes = [TokenScope(scope) for scope in held.scopes]
        secret = (held.prefix, held.secret_sha256)
        token = issue_token(actor, person, held.machine, scopes, TOKEN_LIFE, secret, asked_from=held.address)
        _decide(held, person, token)
    return token


def deny(actor: Actor, person: Person, asked: SignInRequest) -> None:
    """The program gets nothing. Raises Problem 404 `not_found` for one that waits no more."""
    with transaction.atomic():
        held = _held(asked)
        reason = f"{person.name} denied the sign-in of a program from {held.address}."
        record(
            actor,
            Action.TOKEN_ADD,
            ObjectKind.TOKEN,
            held.id,
            held.machine,
            outcome=EventOutcome.REFUSED,
            reason=reason,
        )
        _decide(held, person, None)


def _waiting() -> QuerySet[SignInRequest]:
    return SignInRequest.objects.filter(decided_at=None, expires_at__gt=Now())


def _held(asked: SignInRequest) -> SignInRequest:
    """Locked: of two people who confirm at once, one comes too late."""
    held = _waiting().select_for_update().filter(pk=asked.pk).first()
    if held is None:
        raise Problem(404, "not_found", UNKNOWN)
    return held


def _decide(held: SignInRequest, person: Person, token: Token | None) -> None:
    SignInRequest.objects.filter(pk=held.pk).update(decided_at=Now(), decided_by=person, token=token)


def letters(code: str) -> str:
    """The code without what people put between its letters."""
    return "".join(letter for letter in code.upper() if letter in LETTERS)


def _hmac(code: str) -> str:
    """Keyed, since so short a text could be found from a plain hash."""
    return salted_hmac("levee.sign-in.code", code, algorithm="sha256").hexdigest()
