"""The one list of pages that a person can go to: the navigation, the menus, the keys and the palette are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.urls import ResolverMatch, get_script_prefix, resolve, reverse
from django.utils.functional import SimpleLazyObject

from console.accounts.models import Person
from console.accounts.permissions import Asked, asked_by, lets_in
from console.accounts.roles import Permission


class Shelf(StrEnum):
    """Where a place stands besides the palette, which has them all."""

    MAIN = "main"
    ADMINISTRATION = "administration"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A page by the name of its URL, with all that navigation, menus, keys and the palette say of it.

    `needs` is what its acts require, where everybody may look at it. `holds`: how the names of the pages that belong to it begin, beside
    its own; `holds_tables`: and the pages of any table. `is_post`: going there changes something, so it takes a button.
    """

    text: str
    address: str
    words: str = ""
    key: str = ""  # after g
    needs: Permission | None = None
    shelf: Shelf | None = None
    icon: str = ""
    holds: tuple[str, ...] = ()
    holds_tables: bool = False
    is_post: bool = False

    @property
    def url(self) -> str:
        return reverse(self.address)

    def is_for(self, person: Person) -> bool:
        """Whether the page's view lets the person in."""
        asked = _asked_for(self.address)
        return asked is not None and (self.needs is None or person.may(self.needs)) and lets_in(person, asked)

    def is_around(self, match: ResolverMatch | None) -> bool:
        """Whether the page at this match is the place or belongs to it."""
        if match is None:
            return False
        return match.view_name.startswith((self.address, *self.holds)) or (
            self.holds_tables and "table_id" in match.kwargs
        )


@cache
def _asked_for(address: str) -> tuple[Asked, ...] | None:
    """What the view of an address declares; None if it declares nothing."""
    asked = asked_by(resolve(f"/{reverse(address).removeprefix(get_script_prefix())}").func)
    if isinstance(asked, Mapping):  # an address of the API that is a page as well
        looking = asked["GET"]
        return looking if isinstance(looking, tuple) else (looking,)
    return asked


_MAIN, _ADMINISTRATION, _ACCOUNT = Shelf
PLACES = (
    PagePlace("Home", "home", "start overview", "h", shelf=_MAIN),
    PagePlace("Tables", "tables:list", "catalog", "t", shelf=_MAIN, holds=("tables:", "jobs:convert"), holds_tables=True),
    PagePlace("Jobs", "jobs:list", "runs requests", "j", shelf=_MAIN, holds=("jobs:detail",)),
    PagePlace("Approvals", "jobs:approvals", "reviews waiting decide", "a", shelf=_MAIN, holds=("jobs:review",)),
    PagePlace("Streams", "jobs:streams", "ingestion", "s", shelf=_MAIN, holds=("jobs:stream",)),
    PagePlace("Schedules", "jobs:schedules", "cron recurring maintenance", "d", shelf=_MAIN, holds=("jobs:schedule",)),
    PagePlace("Audit", "audit:list", "events log", "u", shelf=_MAIN, holds=("audit:", "jobs:life", "jobs:verify")),
    PagePlace("Workers", "jobs:workers", "administration spark engine", "w", shelf=_ADMINISTRATION),
    PagePlace("People", "accounts:people", "administration users roles grants", "e", shelf=_ADMINISTRATION, holds=("accounts:person",)),
    PagePlace("Roots", "roots:list", "administration storage directories", "r", shelf=_ADMINISTRATION, holds=("roots:",)),
    PagePlace("Policies", "policies:list", "administration rules policy approvals needed", "o",
              shelf=_ADMINISTRATION, holds=("policies:",)),
    PagePlace("Add tables", "tables:add", "scan path new"),
    PagePlace("Convert a directory", "jobs:convert", "parquet delta", needs=Permission.JOB_REQUEST),
    PagePlace("New stream", "jobs:stream_new", "ingestion"),
    PagePlace("New schedule", "jobs:schedule_new", "cron recurring"),
    PagePlace("Verify the audit", "jobs:verify", "chain"),
    PagePlace(
        "Preferences", "preferences:page", "settings options theme dark light time zone density saved filters", "p",
        shelf=_ACCOUNT, icon="adjustments-horizontal", holds=("preferences:",),
    ),
    PagePlace("Keyboard shortcuts", "find:keys", "keys help", shelf=_ACCOUNT, icon="keyboard"),
    PagePlace("Help", "help", "guide documentation manual", shelf=_ACCOUNT, icon="help-circle"),
    PagePlace("Sign in a program", "accounts:sign_in_program", "account code device levee command line cli terminal"),
    PagePlace("REST API", "api_index", "openapi swagger documentation reference curl addresses endpoints programs"),
    PagePlace("API tokens", "accounts:tokens", "account programs", shelf=_ACCOUNT, icon="key"),
    PagePlace("Change password", "accounts:change_password", "account", shelf=_ACCOUNT, icon="lock"),
    PagePlace("Sign out", "accounts:sign_out", "log out logout leave quit end session", shelf=_ACCOUNT, icon="logout", is_post=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """A place for one page: whether that page is it, or belongs to it."""

    place: PagePlace
    is_current: bool


def navigation(request: HttpRequest) -> dict[str, Any]:
    """For every page, computed when its template uses them: the places of each shelf, and where the key g leads (`goes`)."""
    person = getattr(request, "user", None)
    if not isinstance(person, Person):
        return {}
    return {
        "goes": SimpleLazyObject(lambda: [place for place in places_for(person) if place.key]),
        "shelves": SimpleLazyObject(lambda: shelves(places_for(person), request.resolver_match)),
    }


def shelves(places: Sequence[PagePlace], match: ResolverMatch | None) -> dict[str, Any]:
    """By the shelf's name, and whether the page belongs to one of Administration's (`in_administration`)."""
    found = {
        shelf.value: [ShownPlace(place, place.is_around(match)) for place in places if place.shelf is shelf]
        for shelf in Shelf
    }
    return {**found, "in_administration": any(shown.is_current for shown in found[Shelf.ADMINISTRATION])}


def places_for(person: Person) -> list[PagePlace]:
    """The pages that exist and that the person may open."""
    return [place for place in PLACES if place.is_for(person)]
