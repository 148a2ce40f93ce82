"""The version that a page of a table shows, and the ways to others: beside the tabs of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.forms import Form
from django.http import QueryDict
from django.urls import reverse

from console.accounts.models import Person
from tables.history import version_links
from tables.history.version_links import VersionPage, Ways
from tables.models import Commit, Table
from tables.web.table.shared import VersionAsked

AT_VERSION = (
    "schema",
    "protocol",
    "layout",
    "rows",
    "capabilities",
    "commit",
)  # tabs, and the page of a commit, that show any version
ELSEWHERE = "schema"  # where another version is shown from any other tab
# Of a page's own query, what another version has other values of; the rest goes along.
OWN = frozenset(
    {"version", "timestamp", "at", "cursor", "changes", "old", "new", "below", "read_change_feed", "starting_version", "ending_version"}
)  # fmt: skip
MOST_FIELDS = 100
OF_VERSION = "@v"  # before a version, after a table's path; a time follows an @ alone


@dataclass(frozen=True, slots=True)
class ShownVersion:
    """What a page shows: a version, of the table that lies there now or of an earlier one; None: as of a time."""

    version: int | None
    typed: str
    fault: str = ""
    incarnation: int = 0


@dataclass(frozen=True, slots=True)
class Chooser:
    """The field for a version beside the tabs. Where the tab can't show another one (`keeps_tab`), that is shown in ELSEWHERE.

    `ways` are the pages of the version that is shown; the last three are for one that isn't the newest.
    """

    newest: int
    shown: ShownVersion
    action: str
    keeps_tab: bool
    fields: Sequence[tuple[str, str]]
    ways: Ways | None
    commit: VersionPage | None = None
    newest_url: str = ""
    compare_url: str = ""

    @property
    def is_newest(self) -> bool:
        return self.shown.version == self.newest

    @property
    def is_of_present(self) -> bool:
        """Whether it is the table that lies there now: of an earlier one there are commits alone."""
        return self.ways is None or bool(self.ways.places)


def shown_by(
    table: Table, asked: VersionAsked | ShownVersion | None, commit: Commit | None, incarnation: int | None
) -> ShownVersion:
    """What the page's context says that it shows; the newest version where it says nothing."""
    here = table.incarnation if incarnation is None else incarnation
    if isinstance(commit, Commit):
        return ShownVersion(commit.version, str(commit.version), incarnation=here)
    if isinstance(asked, ShownVersion):
        return asked
    if isinstance(asked, VersionAsked):
        return ShownVersion(asked.version, asked.typed, asked.fault, table.incarnation)
    return ShownVersion(table.version, "", incarnation=table.incarnation)


def shown_by_form(table: Table, form: Form) -> ShownVersion:
    """What a form with a `version` and a `timestamp` asks for, whether it is valid or not; one with an `at` says either there, too."""
    newest, typed = table.version or 0, str(form["version"].value() or "").strip()[:30]
    at = str(form["at"].value() or "").strip() if "at" in form.fields and not form.errors.get("at") else ""
    if form["timestamp"].value() or (at and not at.startswith(OF_VERSION)):
        return ShownVersion(None, typed)
    typed = typed or at.removeprefix(OF_VERSION)
    fault, plain = " ".join(map(str, form.errors.get("version", ()))), typed.replace(",", "")
    is_known = not fault and plain.isascii() and plain.isdecimal() and int(plain) <= newest
    return ShownVersion(int(plain) if is_known else newest, typed, fault, table.incarnation)


def chooser(person: Person, table: Table, tab: str, shown: ShownVersion, query: QueryDict) -> Chooser:
    """The chooser of a page of the table, which has a version. `tab` is that of the header, `query` the page's own."""
    newest, keeps = table.version or 0, tab in AT_VERSION
    if shown.version is None or not keeps:
        return Chooser(newest, shown, _action(table, tab if keeps else ELSEWHERE), keeps, [], None)
    ways = version_links.ways(person, table, shown.version, tab, shown.incarnation)
    made = Chooser(newest, shown, _action(table, tab), keeps, [] if tab == "commit" else _fields(query), ways)
    if made.is_newest or not made.is_of_present:
        return made
    return replace(
        made,
        commit=next((place for place in ways.places if place.name == "commit" and tab != "commit"), None),
        newest_url=reverse("tables:commit", args=[table.pk, newest]) if tab == "commit" else made.action,
        compare_url=f"{reverse('tables:compare', args=[table.pk])}?from={shown.version}&to={newest}",
    )


def _action(table: Table, tab: str) -> str:
    if tab == "commit":
        return reverse("tables:commit_of", args=[table.pk])
    return reverse(f"{'jobs' if tab in version_links.OF_SPARK else 'tables'}:{tab}", args=[table.pk])


def _fields(query: QueryDict) -> list[tuple[str, str]]:
    pairs = [(name, value) for name, values in query.lists() if name not in OWN for value in values if value]
    return pairs[:MOST_FIELDS]


def at_version(tabs: Sequence[Mapping[str, Any]], made: Chooser) -> list[dict[str, Any]]:
    """The tabs, those that can show the version that the page shows leading to it."""
    if made.ways is None or made.is_newest:
        return [dict(tab) for tab in tabs]
    places = {place.name: place.url for place in made.ways.places}
    return [{**tab, "url": places.get(tab.get("name", ""), tab["url"])} for tab in tabs]


def only_newest(tabs: Sequence[Mapping[str, Any]], made: Chooser) -> str:
    """Which tabs show the newest version while the page shows another one, as a sentence."""
    if made.ways is None or made.is_newest:
        return ""
    places = {place.name for place in made.ways.places}
    names = [tab["text"] for tab in tabs if tab.get("name") not in places]
    *others, last = names or [""]
    if not others:
        return f"{last} shows only the newest." if last else ""
    return f"{', '.join(others)} and {last} show only the newest."
