"""The actor: a person in a browser, a token, or Levee itself."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.http import HttpRequest

from console.accounts.models import Person, Token
from console.audit.actions import ActorKind
from console.base.logs import request_address, request_id

if TYPE_CHECKING:
    from rest_framework.request import Request


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor, as every service takes it. `person` is None for Levee itself only."""

    kind: ActorKind
    name: str
    person: Person | None = None
    token: Token | None = None
    session: str = ""
    address: str = ""
    request_id: str = ""

    @classmethod
    def of(cls, request: HttpRequest | Request) -> Actor:
        """The signed-in person, or the token's owner, of a request that has been authenticated."""
        person = request.user
        if not isinstance(person, Person):
            raise TypeError("an actor needs a person who has signed in")
        token = getattr(request, "auth", None)
        session_key = getattr(getattr(request, "session", None), "session_key", None)
        return cls(
            kind=ActorKind.TOKEN if isinstance(token, Token) else ActorKind.PERSON,
            name=person.name,
            person=person,
            token=token if isinstance(token, Token) else None,
            session=hashlib.sha256(session_key.encode()).hexdigest() if session_key else "",
            address=request_address.get(),
            request_id=request_id.get(),
        )

    @classmethod
    def system(cls, name: str) -> Actor:
        """Levee itself: `up`, `dispatcher`, a worker's name."""
        return cls(kind=ActorKind.SYSTEM, name=name)

    @classmethod
    def acting_for(cls, person: Person) -> Actor:
        """A person at the command line of the host."""
        return cls(kind=ActorKind.PERSON, name=person.name, person=person)
