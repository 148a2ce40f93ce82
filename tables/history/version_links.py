"""The pages of one version, and the ways from each to the others and to its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from tables.history import queries
from tables.history.reachability import CHANGE_FEED
from tables.models import Table
from tables.record import log_extent

PLACES = {
    "commit": "Commit",
    "rows": "Rows",
    "schema": "Schema",
    "layout": "Layout",
    "protocol": "Protocol",
    "capabilities": "Capabilities",
    "changes": "Change feed",
}
OF_SPARK = {"rows", "capabilities"}
FROM_FILES = {
    "rows",
    "layout",
    "capabilities",
    "changes",
}  # what needs the version's files, not only what the catalog keeps
OF_ROWS = {"rows", "changes"}


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A page of a version."""

    name: str
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Ways:
    """From one page of a version to its others, and to the same page of the versions before and after; None where there is none."""

    version: int
    current: str
    places: list[VersionPage]
    older: VersionPage | None
    newer: VersionPage | None


def commit_url(table: Table, version: int, incarnation: int) -> str:
    """The page of a commit of the present table, or of one that lay there before."""
    url = reverse("tables:commit", args=[table.pk, version])
    return url if incarnation == table.incarnation else f"{url}?{urlencode({'incarnation': incarnation})}"


def ways(person: Person, table: Table, version: int, current: str, incarnation: int | None = None) -> Ways:
    """The ways from the page `current`, a name of PLACES. Only to pages that there are: one query, for a commit's neighbours.

    Of a table that lay here before, there are commits alone.
    """
    incarnation = table.incarnation if incarnation is None else incarnation
    here = incarnation == table.incarnation
    places = [p for name in PLACES if here and (p := _place(person, table, version, name, incarnation))]
    known = _known_around(table, version, incarnation) if current == "commit" else {version - 1, version + 1}
    older, newer = (
        _place(person, table, v, current, incarnation) if v in known else None for v in (version - 1, version + 1)
    )
    return Ways(version, current, places, older, newer)


def _known_around(table: Table, version: int, incarnation: int) -> set[int]:
    around = queries.commits_of(table, incarnation).filter(version__in=(version - 1, version + 1))
    return set(around.values_list("version", flat=True))


def _place(person: Person, table: Table, version: int, name: str, incarnation: int) -> VersionPage | None:
    """The page of this name at the version; None when the person may not see it, or there can't be one."""
    if name == "commit":
        query = {} if incarnation == table.incarnation else {"incarnation": incarnation}
        return _placed(name, "tables:commit", [table.pk, version], query)
    if table.version is None or not 0 <= version <= table.version:
        return None
    if name in FROM_FILES and not log_extent.can_be_rebuilt(table, version):
        return None
    if name in OF_ROWS and not person.scopes(Permission.TABLE_ROWS).covers_table(table.root_id, table.pk):
        return None
    if name == "changes":
        keeps = str(table.properties.get(CHANGE_FEED)).lower() == "true"
        query = {"from_version": version, "to_version": version}
        return _placed(name, "jobs:changes", [table.pk], query) if keeps else None
    return _placed(name, f"{'jobs' if name in OF_SPARK else 'tables'}:{name}", [table.pk], {"version": version})


def _placed(name: str, route: str, parts: list[object], query: dict[str, int]) -> VersionPage:
    url = reverse(route, args=parts)
    return VersionPage(name, PLACES[name], f"{url}?{urlencode(query)}" if query else url)
