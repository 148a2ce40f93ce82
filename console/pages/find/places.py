"""The pages that a person can go to: what the navigation offers, and what lies behind it. Each with the words that find it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, resolve, reverse
from django.utils.functional import SimpleLazyObject

from console.accounts.models import Person
from console.accounts.permissions import Asked, asked_by, lets_in
from console.accounts.roles import Permission


@dataclass(frozen=True, slots=True)
class Place:
    """A page by the name of its URL. `needs` is what its acts require, where everybody may look at it."""

    text: str
    address: str
    words: str = ""
    key: str = ""  # after g
    needs: Permission | None = None

    @property
    def url(self) -> str:
        return reverse(self.address)

    def is_for(self, person: Person) -> bool:
        """Whether the page is there, and its view lets the person in."""
        asked = _asked_for(self.address)
        return asked is not None and (self.needs is None or person.may(self.needs)) and lets_in(person, asked)


@cache
def _asked_for(address: str) -> tuple[Asked, ...] | None:
    """What the view of an address declares; None if there is no such address."""
    try:
        path = reverse(address)
    except NoReverseMatch:
        return None
    asked = asked_by(resolve(f"/{path.removeprefix(get_script_prefix())}").func)
    return asked if isinstance(asked, tuple) else None


PLACES = (
    Place("Home", "home", "start overview", "h"),
    Place("Tables", "tables:list", "catalog", "t"),
    Place("Jobs", "jobs:list", "runs requests", "j"),
    Place("Approvals", "jobs:approvals", "reviews waiting decide", "a"),
    Place("Streams", "jobs:streams", "ingestion", "s"),
    Place("Schedules", "jobs:schedules", "cron recurring maintenance", "d"),
    Place("Audit", "audit:list", "events log", "u"),
    Place("Workers", "jobs:workers", "administration spark engine", "w"),
    Place("People", "accounts:people", "administration users roles grants", "e"),
    Place("Roots", "roots:list", "administration storage directories", "r"),
    Place("Policies", "policies:list", "administration rules policy approvals needed", "o"),
    Place("Add tables", "tables:add", "scan path new"),
    Place("Convert a directory", "jobs:convert", "parquet delta", needs=Permission.JOB_REQUEST),
    Place("New stream", "jobs:stream_new", "ingestion"),
    Place("New schedule", "jobs:schedule_new", "cron recurring"),
    Place("Verify the audit", "jobs:verify", "chain"),
    Place("Preferences", "preferences:page", "settings options theme dark light time zone density saved filters", "p"),
    Place("API tokens", "accounts:tokens", "account programs"),
    Place("Change password", "accounts:change_password", "account"),
    Place("Sign out", "accounts:sign_out", "log out logout leave quit end session"),
    Place("Keyboard shortcuts", "find:keys", "keys help"),
    Place("Help", "help", "guide documentation manual"),
)


def goes(request: HttpRequest) -> dict[str, Any]:
    """For every page: where the key g leads."""
    person = getattr(request, "user", None)
    if not isinstance(person, Person):
        return {}
    return {"goes": SimpleLazyObject(lambda: [place for place in places_for(person) if place.key])}


def places_for(person: Person) -> list[Place]:
    """The pages that exist and that the person may open."""
    return [place for place in PLACES if place.is_for(person)]
