"""Adding the table at a path to the catalog, in one act and one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog import listing
from tables.catalog.listing import known_at
from tables.catalog.requested_syncs import first_synced, place_to_wait
from tables.catalog.rights import person_of, refuse_paused, require_below
from tables.models import Finding, Root, SyncTimes, Table
from tables.record import table_fields
from tables.rules import discovery
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import Location, LocationError, NoSuchDirectory, canonical, resolve
from tables.rules.table_formats import TableFormat, above_partitions, may_mark
from tables.storage.place import NOT_IN_PATHS

MAX_TICKED = 500


@dataclass(frozen=True, slots=True)
class Added:
    """A table of the catalog, and whether this act brought it in."""

    table: Table
    is_new: bool


def add_table(actor: Actor, path: str) -> Added:
    """Brings the Delta table or parquet directory at a path into the catalog, already synced.

    The light worker reads a log that takes longer than SYNC_SECONDS_WAITED after the request has been answered. Raises Problem: 403
    `outside_roots` or `forbidden`, 404 `no_table`, 409 `inside_table` or `root_paused`, 422 `unreadable` or the
    code of a table in another format (`hudi_table` and so on), 503 `busy`.
    """
    person = person_of(actor)
    location = locate(person, path)
    known = known_at(person, location.path)
    if known is not None:
        return Added(known, is_new=False)
    with place_to_wait(person):
        table, is_new = enter(actor, location, _addable(person, location))
        return Added(first_synced(person, table) if is_new else table, is_new)


def add_found(actor: Actor, root: Root, paths: Sequence[str]) -> list[Added]:
    """Adds the selected findings of a scan. The light worker reads their logs, since hundreds take a while.

    All of them or none: raises Problem as `add_table` does.
    """
    if len(paths) > MAX_TICKED:
        raise Problem(400, "invalid", f"You can add at most {MAX_TICKED} tables at once.")
    possible = [path for path in paths if not NOT_IN_PATHS.search(path)]
    scanned = set(Finding.objects.filter(root=root, path__in=possible).values_list("path", flat=True))
    if unknown := [path for path in paths if path not in scanned]:
        raise Problem(400, "invalid", f"The scan didn’t find {unknown[0]}.")
    person, roots = person_of(actor), list(Root.objects.all())
    places = [
        locate(person, path, roots) for path in sorted(set(paths))
    ]  # in one order, so that two batches take turns
    rows = listing.visible_to(person).select_related("root").filter(path__in=[place.path for place in places])
    known = {table.path: table for table in rows}
    kinds = {place.path: _addable(person, place) for place in places if place.path not in known}
    with transaction.atomic():
        entered = [Added(*enter(actor, place, kinds[place.path])) for place in places if place.path in kinds]
        new = [added.table.pk for added in entered if added.is_new]
        SyncTimes.objects.filter(pk__in=new).update(next_sync_at=Now())
    return [*entered, *(Added(table, is_new=False) for table in known.values())]


def _addable(person: Person, location: Location[Root]) -> DirectoryKind:
    """The kind of table at a place that the person may add. Raises Problem as `add_table`."""
    require_below(person, location.root)
    refuse_paused(location.root)
    refuse_inside_table(location)
    kind = kind_at(location.path)
    if kind is DirectoryKind.PARQUET:
        refuse_inside_other_format(location)
    return kind


def locate(person: Person, text: str, roots: Iterable[Root] | None = None) -> Location[Root]:
    """The place, in a root that the person sees, or at a table that they see in another one: nothing else there is told.

    `roots` are all there are, for whoever has read them already. Raises Problem 403 `outside_roots`, 404 `no_table`.
    """
    reads = person.scopes(Permission.TABLE_READ)
    known = Root.objects.all() if roots is None else roots
    try:
        return resolve(text, known, lambda root: reads.covers_root(root.pk) or _own(person, text))
    except LocationError as error:
        code = "no_table" if isinstance(error, NoSuchDirectory) else error.code
        raise Problem(error.status, code, str(error)) from None


def _own(person: Person, text: str) -> bool:
    """Whether the text is the path of a table that the person sees."""
    try:
        return known_at(person, canonical(text)) is not None
    except LocationError:
        return False


def kind_at(path: str) -> DirectoryKind:
    """The kind of table at a path.

    Raises Problem: 404 `no_table` if it is neither, 422 `hudi_table` and so on, `unreadable` if Levee can't tell.
    """
    try:
        kind = discovery.kind_of(path)
    except discovery.OtherFormat as other:
        raise _of_other_format(path, _whole(path, other.format), other.format) from None
    except discovery.Unclear as error:
        raise Problem(422, "unreadable", f"Levee can’t tell what {path} holds: {error}.") from None
    if kind is None:
        raise Problem(404, "no_table", f"{path} holds neither a Delta table nor parquet files.")
    return kind


def refuse_inside_table(location: Location[Root]) -> None:
    """Raises Problem 409 `inside_table` for a place below a Delta table: a partition directory isn't a table.

    422 `unreadable` where a store doesn't tell.
    """
    path = location.path
    for _ in location.below:
        path = path.rpartition("/")[0]
        if _is_delta(path):
            detail = f"{location.path} is inside the Delta table {path}. Add that table; a partition isn’t a table of its own."
            raise Problem(409, "inside_table", detail, table_path=path)


def refuse_inside_other_format(location: Location[Root]) -> None:
    """Raises Problem 422 `hudi_table`, `iceberg_table` and so on for files of such a table, `unreadable` where a store doesn't tell."""
    path = location.path
    for _ in location.below:
        path = path.rpartition("/")[0]
        try:
            other = discovery.other_format(path)
        except discovery.Unclear as error:
            raise Problem(422, "unreadable", f"Levee can’t tell what {path} holds: {error}.") from None
        if other is not None:
            raise _of_other_format(location.path, _whole(path, other), other)


def _whole(path: str, other: TableFormat) -> str:
    """The table that a directory of such a format is, or is a part of: of Hive’s, partitions and transactions are told one by one."""
    if other is not TableFormat.HIVE_ACID:
        return path
    head, _, name = path.rpartition("/")
    return above_partitions(head if may_mark(name) else path)


def _of_other_format(path: str, table: str, other: TableFormat) -> Problem:
    where = f"{path} is" if path == table else f"{path} is inside {table},"
    detail = (
        f"{where} a table of {other.label}. Its files alone don’t say which rows count, so Levee doesn’t take them for a table."
        " Read it with its own engine, write the rows to a Delta table, and add that one."
    )
    return Problem(422, other.code, detail, table_path=table)


def _is_delta(path: str) -> bool:
    try:
        return discovery.is_delta(path)
    except discovery.Unclear as error:
        raise Problem(422, "unreadable", f"Levee can’t tell what {path} holds: {error}.") from None


def enter(actor: Actor, location: Location[Root], kind: DirectoryKind) -> tuple[Table, bool]:
    """The catalog's entry for a location, made when there is none; one per location, whoever comes first. Unsynced.

    Raises Problem 404 `not_found` for a root that was removed meanwhile.
    """
    table = Table(
        root=location.root, path=location.path, name=name_of(location), format=kind.value, added_by=actor.person
    )
    table_fields.index_words(table)
    with transaction.atomic():
        _keep_root(location.root)
        entry, fresh = _get_or_create(table)
        if fresh or entry.hidden_at is not None:
            record(actor, Action.TABLE_ADD, ObjectKind.TABLE, entry.id, entry.name, after={"path": entry.path})
            if entry.hidden_at is not None:
                Table.objects.filter(pk=entry.pk).update(hidden_at=None)
            entry.hidden_at, fresh = None, True
    return entry, fresh


def enter_empty(actor: Actor, location: Location[Root]) -> Table:
    """As `enter` for a place that is empty or not there yet: whoever asks for this makes a table there with the first commit."""
    table, fresh = enter(actor, location, DirectoryKind.PARQUET)
    if fresh and not table.is_delta:
        table.num_files = table.size_bytes = 0
        table.save(update_fields=["num_files", "size_bytes"])
    return table


def _keep_root(root: Root) -> None:
    """Lets nobody remove the root until the transaction ends. Raises Problem 404 `not_found` once somebody has."""
    with connection.cursor() as cursor:
        cursor.execute("select 1 from tables_root where id = %s and removed_at is null for share", [root.pk])
        if cursor.fetchone() is None:
            raise Problem(404, "not_found", f"The root {root.name} was removed. Nothing was changed.")


def _get_or_create(table: Table) -> tuple[Table, bool]:
    try:
        with transaction.atomic():
            table.save(force_insert=True)
        return table, True
    except IntegrityError:
        return Table.objects.select_related("root").get(path=table.path), False


def name_of(location: Location[Root]) -> str:
    """The name of a table without a catalog name: its path below the root."""
    return "/".join(location.below) or location.path.rpartition("/")[2]
