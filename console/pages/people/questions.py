"""What a person answers before an account is closed, a role removed, a token revoked."""

from __future__ import annotations

from dataclasses import replace

from django.db.models.functions import Now
from django.urls import reverse

from console.accounts.models import Grant, Person, Token
from console.base.questions import Question


def of_token(token: Token) -> Question:
    """Before a token is revoked."""
    return Question(
        act=f"Revoke {token.label}",
        button="Revoke the token",
        follows=[
            ("Programs with it", "are refused from now on"),
            ("Jobs", "that it requested go on"),
            ("Way back", "none: create another token, and give that to the programs"),
        ],
        back=reverse("accounts:tokens"),
        back_text="API tokens",
    )


def of_account(person: Person) -> Question:
    """Before an account is closed."""
    tokens = person.tokens.filter(revoked_at=None, expires_at__gt=Now()).count()
    follows = [
        ("Sessions", f"of {person.name} end at once"),
        ("API tokens", f"{_counted(tokens)} refused while it is closed" if tokens else "none in use"),
        ("Streams and schedules", "that run for this person stop at their next run; jobs go on"),
        ("Way back", "reopen the account: it has its roles, and the tokens work again unless they are revoked"),
    ]
    asked = _of_person(person, f"Close the account of {person.name}", "Close the account", follows)
    return replace(asked, fields={"active": "false"})


def _counted(tokens: int) -> str:
    return "one, which is" if tokens == 1 else f"{tokens:,}, which are"


def of_grant(held: Grant) -> Question:
    """Before a role is removed."""
    name = held.person.name
    follows = [
        ("Sessions", f"of {name} end at once"),
        ("Role", f"{held.role} on {held.scope_text}; the others stay"),
        ("Way back", "give the role again: the record then says who gave it and when"),
    ]
    return _of_person(held.person, f"Remove {held.role} on {held.scope_text} from {name}", "Remove the role", follows)


def _of_person(person: Person, act: str, button: str, follows: list[tuple[str, str]]) -> Question:
    back = reverse("accounts:person", args=[person.pk])
    return Question(act=act, button=button, follows=follows, back=back, back_text=person.name, takes_password=True)
