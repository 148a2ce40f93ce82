"""The target of a command: a path or name below a root that the person may see, and its entry in the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.domain.errors import CommandRefused, Refusal
from tables.catalog import listing
from tables.catalog.adding.additions import enter
from tables.models import Root, Table
from tables.rules import discovery
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import Location, LocationError, NoSuchDirectory, canonical, innermost, resolve

REGISTER = "Have an admin register a root above the directory, then try again."


@dataclass(frozen=True, slots=True)
class Place:
    """A canonical location below a root, and its table where the catalog knows one."""

    root: Root
    path: str
    location: Location[Root] | None  # None if the person may see only the table itself
    table: Table | None


def by_path(actor: Actor, path: str, action: Action) -> Place:
    """The directory at a path that this person may see. Records a refusal, and reads nothing outside the roots.

    Raises Problem 403 `outside_roots`, 404 `not_found`.
    """
    person = actor.person
    if person is None:
        raise Problem(403, "forbidden", "Only a person can look up a path.")
    try:
        location = listing.locate(person, path)
    except Problem as problem:
        own = _own_table(person, path)
        if own is not None:
            return Place(own.root, own.path, None, own)
        if problem.status == 403:
            refuse(actor, action, ObjectKind.PATH, path[:500], path[:500], problem)
        raise
    return Place(location.root, location.path, location, Table.objects.filter(path=location.path).first())


def is_delta(path: str) -> bool:
    """Whether a Delta log lies in the directory. Raises Problem 422 `unreadable` when an object store doesn't tell."""
    try:
        return discovery.is_delta(path)
    except discovery.Unclear as error:
        raise Problem(422, "unreadable", f"Levee can’t tell what is at {path}: {error}.") from None


def check_place(table: Table) -> None:
    """Checks that the directory is still where the catalog has it, not reached by a link. Raises Problem 403 `outside_roots`, 404."""
    try:
        resolve(table.path, Root.objects.all())  # those of now: its own may have been removed
    except LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None


def check_claimed(path: str) -> None:
    """A worker's own check of its target: it must lie below one of the current roots, whichever there were at the request.

    The engine checks for links on the way, and repeats it. Raises CommandRefused `outside_roots`.
    """
    try:
        known = canonical(path) == path and innermost(path, Root.objects.all())
    except LocationError:
        known = None
    if not known:
        raise CommandRefused(Refusal("outside_roots", f"{path} is not below a root.", place=path, remedy=REGISTER))


def _own_table(person: Person, path: str) -> Table | None:
    """The table at exactly this path, for a person whose roles are on tables and not on its root."""
    tables = person.scopes(Permission.TABLE_READ).tables
    if not tables:
        return None
    try:
        wanted = canonical(path)
    except LocationError:
        return None
    known = Table.objects.select_related("root").filter(pk__in=tables, path=wanted, root__removed_at=None)
    return known.first()


def by_name(actor: Actor, name: str) -> Place:
    """The directory of a catalog name. Raises Problem 403 `outside_roots`, 404 `not_found`, `no_table`."""
    if actor.person is None:
        raise Problem(403, "forbidden", "Only a person can look up a name.")
    table = listing.named(actor.person, name)
    try:
        resolve(table.path, [table.root])
    except NoSuchDirectory as error:
        raise Problem(404, "no_table", f"{name} is the name of {table.path}. {error}") from None
    except LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None
    return Place(table.root, table.path, None, table)


def entry(actor: Actor, place: Place) -> Table:
    """The catalog's entry for the place; a directory that isn't in the catalog yet becomes a parquet entry."""
    if place.location is None:
        return Table.objects.get(path=place.path)
    return place.table or enter(actor, place.location, DirectoryKind.PARQUET)[0]
