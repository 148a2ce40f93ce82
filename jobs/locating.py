"""Where a command works: the place that a person names, below a root that they may see, and its entry in the catalog."""

from __future__ import annotations

from dataclasses import dataclass, replace

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.errors import Problem
from jobs.domain.commands import Convert
from tables import queries
from tables.discovery import Kind
from tables.locations import Location, LocationError, NoSuchDirectory, canonical, resolve
from tables.models import Root, Table
from tables.services import enter


@dataclass(frozen=True, slots=True)
class Place:
    """A canonical location below a root, and its table where the catalog knows one."""

    root: Root
    path: str
    location: Location[Root] | None  # None where only the table itself is known to the asker
    table: Table | None


def for_convert(actor: Actor, command: Convert) -> Place:
    """The directory to convert, named by path or by catalog name. Raises Problem 403 `outside_roots`, 404 `not_found`, `no_table`."""
    if command.name is not None:
        return _by_name(actor, command.name)
    return by_path(actor, command.path or "", Action.JOB_REQUEST)


def by_path(actor: Actor, path: str, action: Action) -> Place:
    """The directory at a path, as far as this person may see. A refusal is recorded; nothing outside is looked at.

    Raises Problem 403 `outside_roots`, 404 `not_found`.
    """
    person = actor.person
    if person is None:
        raise Problem(403, "forbidden", "A path is looked up for a person.")
    try:
        found = queries.locate(person, path)
    except Problem as problem:
        own = _own_table(person, path)
        if own is not None:
            return Place(own.root, own.path, None, own)
        if problem.status == 403:
            refuse(actor, action, ObjectKind.PATH, path[:500], path[:500], problem)
        raise
    return Place(found.root, found.path, found, Table.objects.filter(path=found.path).first())


def check_place(table: Table) -> None:
    """The table's directory is still where the catalog has it, and no link leads to it. Raises Problem 403 `outside_roots`, 404."""
    try:
        resolve(table.path, [table.root])
    except LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None


def _own_table(person: Person, path: str) -> Table | None:
    """The table at exactly this path, for someone whose roles are on tables and not on its root."""
    tables = person.scopes(Permission.TABLE_READ).tables
    if not tables:
        return None
    try:
        wanted = canonical(path)
    except LocationError:
        return None
    return Table.objects.select_related("root").filter(pk__in=tables, path=wanted).first()


def _by_name(actor: Actor, name: str) -> Place:
    if actor.person is None:
        raise Problem(403, "forbidden", "A name is looked up for a person.")
    table = queries.named(actor.person, name)
    try:
        resolve(table.path, [table.root])
    except NoSuchDirectory as error:
        raise Problem(404, "no_table", f"{name} is the name of {table.path}. {error}") from None
    except LocationError as error:
        raise Problem(error.status, error.code, str(error)) from None
    return Place(table.root, table.path, None, table)


def by_catalog(command: Convert, place: Place) -> Convert:
    """A command by name with what Levee's catalog knows: the directory, and the schema and partitions that are declared."""
    if command.name is None or place.table is None:
        return command
    declared = place.table.catalog_entry or {}
    return replace(
        command,
        name=place.table.catalog_name,
        location=place.path,
        declared_schema=declared.get("schema"),
        declared_partitions=declared.get("partition_columns"),
    )


def entry(actor: Actor, place: Place) -> Table:
    """The catalog's entry for the place; a directory that isn't known yet becomes a parquet entry."""
    if place.location is None:
        return Table.objects.get(path=place.path)
    return place.table or enter(actor, place.location, Kind.PARQUET)[0]
