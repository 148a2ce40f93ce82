"""Who calls: a browser or a program of somebody with one role."""

from __future__ import annotations

import time
from typing import Any

from django.test import Client

from console.accounts.models import Person
from tests.factories import person_with, token_text

API = "/api/v1"
SURE = {"sure": "yes"}  # the answer of a page that asks once more before an act


class Caller:
    """A program with a token: JSON in, JSON out."""

    def __init__(self, person: Person, *scopes: str) -> None:
        self.person = person
        self.client = Client(
            headers={"authorization": f"Bearer {token_text(person, *scopes)}"}, SERVER_NAME="127.0.0.1"
        )

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path if API in path else f"{API}{path}", query)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(f"{API}{path}", body or {}, content_type="application/json", headers=headers)

    def put(self, path: str, body: Any) -> Any:
        return self.client.put(f"{API}{path}", body, content_type="application/json")

    def patch(self, path: str, body: Any) -> Any:
        return self.client.patch(f"{API}{path}", body, content_type="application/json")

    def delete(self, path: str) -> Any:
        return self.client.delete(f"{API}{path}")


def caller(role: str | None, *scopes: str, **where: Any) -> Caller:
    """A caller with one role, on everything unless told; with every scope unless told."""
    return Caller(person_with(role, **where), *scopes)


def browser(person: Person) -> Client:
    """A signed-in browser."""
    client = Client()
    client.force_login(person)
    return client


def confirmed_browser(person: Person) -> Client:
    """A signed-in browser whose password was given just now."""
    client = browser(person)
    session = client.session
    session["confirmed_at"] = time.time()
    session.save()
    return client
