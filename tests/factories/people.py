"""People, their roles, their tokens, and what they are told."""

from __future__ import annotations

import itertools
import uuid
from typing import Any

import factory
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password

from console.accounts import services
from console.accounts.authority import EVERYTHING, GrantScope
from console.accounts.models import Grant, Notice, Person, SignInRequest, Token
from console.accounts.roles import Role, TokenScope
from console.accounts.sign_in import program_sign_ins
from console.audit.actor import Actor

PASSWORD = "correct horse battery staple"
_HASHED: dict[int, str] = {}  # by what hashing costs at the time
_TOKENS = itertools.count(1)


def hashed_password() -> str:
    """Hashing is slow on purpose: once per test process."""
    cost = Argon2PasswordHasher.memory_cost
    if cost not in _HASHED:
        _HASHED[cost] = make_password(PASSWORD)
    return _HASHED[cost]


class PersonFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """Somebody with PASSWORD and no role."""

    class Meta:
        model = Person

    name = factory.Sequence(lambda n: f"person{n}")
    password = factory.LazyFunction(hashed_password)


class GrantFactory(factory.django.DjangoModelFactory):  # type: ignore[misc]  # the package is untyped
    """A role, on everything unless `root` or `table` is given."""

    class Meta:
        model = Grant

    person = factory.SubFactory(PersonFactory)
    role = Role.VIEWER
    scope = factory.LazyAttribute(
        lambda o: "root" if getattr(o, "root", None) else "table" if getattr(o, "table", None) else "everything"
    )


def person_with(role: str | None, **where: Any) -> Person:
    """A person with one role, on everything unless told."""
    person = PersonFactory()
    if role:
        GrantFactory(person=person, role=role, **where)
    return Person.objects.get(pk=person.pk)


def person_named(name: str, *roles: str, **where: Any) -> Person:
    """The person of that name, made without a password if there is none yet, with these roles besides those held."""
    person, _ = Person.objects.get_or_create(name=name)
    for role in roles:
        GrantFactory(person=person, role=role, **where)
    return person


def appointed(name: str = "olga", role: Role = Role.OPERATOR, scope: GrantScope = EVERYTHING) -> Person:
    """The person of that name, with a role that the service gave, hence on record."""
    person = person_named(name)
    services.grant(Actor.system("tests"), person, role, scope)
    return Person.objects.get(pk=person.pk)


def token_text(person: Person, *scopes: str) -> str:
    """A fresh token of the person, as it is sent; with every scope unless told."""
    wanted = [TokenScope(scope) for scope in scopes or TokenScope.values]
    return services.add_token(Actor.system("tests"), person, f"token {next(_TOKENS)}", wanted)[1]


def token_row(person: Person, **changes: Any) -> Token:
    """The row of a fresh token."""
    token, _ = services.add_token(Actor.system("tests"), person, "a token", [TokenScope.READ])
    for name, value in changes.items():
        setattr(token, name, value)
    token.save()
    return token


def sign_in(machine: str = "laptop-3") -> tuple[SignInRequest, str]:
    """A program that waits to be signed in, and its code."""
    asked, code, _ = program_sign_ins.begin(machine, [TokenScope.READ], "127.0.0.1")
    return asked, code


def notice(**changes: Any) -> Notice:
    """An act on the machine that nobody has acknowledged."""
    return Notice.objects.create(
        **{"event": uuid.uuid4(), "text": "A command on the machine lowered a rule.", **changes}
    )
