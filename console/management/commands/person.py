"""`manage.py person add NAME …`: people, roles and tokens from the host's command line; `person vouch NAME …` ends a chain there."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from console.accounts import services
from console.accounts.models import Person
from console.accounts.roles import Role, TokenScope
from console.audit.actor import Actor
from console.management.troubles import in_one_line
from tables.catalog.scopes import scope_of


class WithRole(Action):
    """`--role ROLE` opens a pair, `--on SCOPE` closes it; the order of the pairs is that of the command line."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, value: str | Sequence[Any] | None, option: str | None = None
    ) -> None:
        pairs: list[list[str]] = list(namespace.roles or [])
        if option == "--role":
            pairs.append([str(value)])
        elif pairs and len(pairs[-1]) == 1:
            pairs[-1] = [*pairs[-1], str(value)]
        else:
            raise ArgumentError(self, "must follow its --role")
        namespace.roles = pairs


class Command(BaseCommand):
    help = "Adds a person, or gives an existing one a password, roles, a token; or vouches for people who exist."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        vouch = acts.add_parser("vouch", help="Vouches that these are independent people, no matter who added them.")
        vouch.add_argument("names", metavar="NAME", nargs="+")
        add = acts.add_parser("add", help="Adds a person, or gives an existing one a password, roles, a token.")
        add.add_argument("name", metavar="NAME")
        add.add_argument("--role", action=WithRole, dest="roles", choices=Role.values, help="with --on; repeatable")
        add.add_argument(
            "--on", action=WithRole, dest="roles", metavar="SCOPE", help="everything, root:NAME, table:PATH"
        )
        add.add_argument("--password-stdin", action="store_true", help="the password is the first line of the input")
        add.add_argument("--token", metavar="LABEL", help="makes an API token and prints it, once, on the last line")
        add.add_argument(
            "--scope", action="append", dest="scopes", choices=TokenScope.values, help="of the token: read and request"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        with in_one_line():
            if options["act"] == "vouch":
                self._vouch(options["names"])
            else:
                _check(options)
                self._add(options)

    def _vouch(self, names: list[str]) -> None:
        """For all of them or for none."""
        with transaction.atomic():
            for person in [_known(name) for name in names]:
                ended = services.vouch(ACTOR, person)
                text = VOUCHED if ended else "{name} needed no vouching: no other person has appointed them"
                self.stdout.write(text.format(name=person.name))

    def _add(self, options: dict[str, Any]) -> None:
        password = _password() if options["password_stdin"] else None
        with transaction.atomic():
            person, fresh = _person(options["name"], password)
            for role, on in options["roles"] or []:
                services.grant(ACTOR, person, Role(role), scope_of(on))
            text = _token(person, options) if options["token"] else None
        self.stdout.write(f"{person.name} {'added' if fresh else 'updated'}")
        for grant in person.grants.select_related("root", "table"):
            self.stdout.write(f"  {grant}")
        if text:
            self.stdout.write(text)


ACTOR = Actor.system("command line")
# Levee can't see who opened a link: only the person can say that it was them.
VOUCHED = """{name} is vouched for: whoever added them or gave them roles counts as the machine
  You say by this that {name} set the account's password and made its tokens, and that nobody else has them. Ask {name}, not who added them.
  If that isn't so, take their roles away under People: this word doesn't cover roles that are given later."""


def _check(options: dict[str, Any]) -> None:
    if any(len(pair) == 1 for pair in options["roles"] or []):
        raise CommandError("every --role needs its --on SCOPE: everything, root:NAME or table:PATH")
    if options["scopes"] and not options["token"]:
        raise CommandError("--scope is a token's: it needs --token LABEL")


def _known(name: str) -> Person:
    person = Person.objects.filter(name__iexact=name).first()
    if person is None:
        raise CommandError(f"no person is named {name}; nothing was changed")
    return person


def _password() -> str:
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("--password-stdin: the first line of the input is empty")
    return password


def _person(name: str, password: str | None) -> tuple[Person, bool]:
    person = Person.objects.filter(name__iexact=name).first()
    if person is None:
        return services.add_person(ACTOR, name, password), True
    if password is not None:
        services.change_password(ACTOR, person, password)
    return person, False


def _token(person: Person, options: dict[str, Any]) -> str:
    scopes = [TokenScope(scope) for scope in options["scopes"] or ("read", "request")]
    return services.add_token(ACTOR, person, options["token"], scopes)[1]
