"""Acts on the catalog, one door each: check the permission, do it, record it, in one transaction."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.errors import Problem
from console.logs import log
from tables import behind, discovery, facets, facts, queries, sample, scans, schedules
from tables import sync as syncing
from tables.discovery import Kind
from tables.locations import (
    InvalidRoot,
    Location,
    LocationError,
    NoSuchDirectory,
    canonical,
    real_root,
    resolve,
    root_uri,
)
from tables.models import SYNC_SECONDS, Finding, Root, Table
from tables.queries import known_at

MAX_TICKED = 500
TURN_SECONDS = 5.0  # that a request waits for a sync which is running
PATIENCE_SECONDS = 3.0  # that a request waits for the light worker to begin a sync, before it reads the log itself
SYNC_SECONDS_WAITED = 300.0  # that it waits in all; a log that takes longer is read on without it
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def add_root(actor: Actor, name: str, text: str, sync_seconds: int | None = SYNC_SECONDS) -> Root:
    """Registers a storage prefix. Tables that lie below it and belonged to an outer root belong to it from now on.

    `sync_seconds` is the shortest pause between syncs of a table; None: by hand only. Raises Problem: 403 `forbidden`, 400
    `invalid` (name, place or pause), 409 `already_known` (name or place taken).
    """
    _require(actor, Permission.ROOT_MANAGE)
    pause = schedules.checked(sync_seconds)
    root = Root(name=_root_name(name), uri=_root_uri(text), sync_seconds=pause, added_by=actor.person)
    after = {"name": root.name, "uri": root.uri, "sync_seconds": pause}
    try:
        with transaction.atomic():
            record(actor, Action.ROOT_ADD, ObjectKind.ROOT, root.id, root.name, after=after)
            root.save(force_insert=True)
            _take_over(root)
    except IntegrityError:
        raise Problem(409, "already_known", f"A root named {name}, or one at {root.uri}, exists already.") from None
    return root


def _require(actor: Actor, permission: Permission) -> None:
    """For acts on everything. Levee itself has no person and needs no permission."""
    if actor.person is not None and not actor.person.scopes(permission).everything:
        raise Problem(403, "forbidden", f"This needs {permission.value} on everything, which none of your roles gives.")


def _root_name(name: str) -> str:
    if not name or len(name) > 100 or not set(name) <= NAME_CHARACTERS:
        detail = "A root’s name has 1 to 100 letters, digits, dots, dashes and underscores."
        raise Problem(400, "invalid", detail, fields={"name": detail})
    return name


def _root_uri(text: str) -> str:
    try:
        uri = root_uri(text)
        if not uri.startswith("/"):
            raise InvalidRoot("Levee reads directories of this machine alone; object stores come later.")
    except InvalidRoot as error:
        raise Problem(400, "invalid", str(error), fields={"uri": str(error)}) from None
    return uri


def _take_over(root: Root) -> None:
    """The innermost root owns a table, and what a scan has found: two statements, however many there are."""
    inside = _at_or_below(root.uri)
    for other in Root.objects.filter(uri__startswith=f"{root.uri}/"):
        inside &= ~_at_or_below(other.uri)
    Table.objects.filter(inside).update(root=root)
    Finding.objects.filter(inside).update(root=root)


def _at_or_below(place: str) -> Q:
    return Q(path=place) | Q(path__startswith=f"{place}/")


@dataclass(frozen=True, slots=True)
class Added:
    """A table of the catalog, and whether this act brought it in."""

    table: Table
    is_new: bool


def add_table(actor: Actor, path: str) -> Added:
    """Brings the Delta table or parquet directory at a path into the catalog, already synced.

    A log that takes the light worker longer than SYNC_SECONDS_WAITED is read on without the asker. Raises Problem: 403
    `outside_roots` or `forbidden`, 404 `no_table`, 409 `inside_table`, 422 `unreadable`.
    """
    person = person_of(actor)
    location = locate(person, path)
    known = known_at(person, location.path)
    if known is not None:
        return Added(known, is_new=False)
    table, is_new = enter(actor, location, _addable(person, location))
    return Added(_first_synced(person, table) if is_new else table, is_new)


def _first_synced(person: Person, table: Table) -> Table:
    """The new entry as the light worker has filled it; one that is not filled yet is read when it can be."""
    with transaction.atomic():
        asked = _ask_sync(person, table)
    try:
        done = asked and behind.await_sync(asked, PATIENCE_SECONDS, SYNC_SECONDS_WAITED)
    except Problem as problem:
        log.warning("first_sync_failed", table=str(table.pk), code=problem.code)
        return syncing.entry(table.pk)
    return syncing.sync(table.pk) if done is None else syncing.entry(table.pk)


def _ask_sync(person: Person, table: Table) -> uuid.UUID | None:
    """Whatever becomes of the request and of the worker that takes it, the table is read by its next time."""
    asked = behind.ask_sync(person, table)
    if asked is not None:
        soon = Q(next_sync_at=None) | Q(next_sync_at__gt=Now() + syncing.CLAIM)
        Table.objects.filter(soon, pk=table.pk).update(next_sync_at=Now() + syncing.CLAIM)
    return asked


def kind_at(path: str) -> Kind:
    """What lies at a path. Raises Problem: 404 `no_table` when it is neither, 422 `unreadable` when that can't be told."""
    try:
        kind = discovery.kind_of(path)
    except discovery.Unclear as error:
        raise Problem(422, "unreadable", f"What {path} holds can’t be told: {error}.") from None
    if kind is None:
        raise Problem(404, "no_table", f"{path} holds neither a Delta table nor parquet files.")
    return kind


def require_below(person: Person, root: Root) -> None:
    """Raises Problem 403 `forbidden` unless the person may add tables below the root."""
    if not person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
        detail = f"Adding a table needs {Permission.TABLE_ADD.value} on the root {root.name}."
        raise Problem(403, "forbidden", detail)


def person_of(actor: Actor) -> Person:
    """Who acts. Raises Problem 403 `forbidden` for Levee itself."""
    if actor.person is None:
        raise Problem(403, "forbidden", "This is asked by a person.")
    return actor.person


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
    """Whether the text names a table that the person sees."""
    try:
        return known_at(person, canonical(text)) is not None
    except LocationError:
        return False


def refuse_inside_table(location: Location[Root]) -> None:
    """Raises Problem 409 `inside_table` for a place below a Delta table: a partition directory is no table of its own."""
    path = location.path
    for _ in location.below:
        path = path.rpartition("/")[0]
        if discovery.is_delta(path):
            detail = (
                f"{location.path} lies inside the Delta table {path}. Add that one; a partition is no table of its own."
            )
            raise Problem(409, "inside_table", detail, table_path=path)


def enter(actor: Actor, location: Location[Root], kind: Kind) -> tuple[Table, bool]:
    """The catalog's entry for a location, made when there is none; one per location, whoever comes first. Unsynced."""
    table = Table(
        root=location.root, path=location.path, name=name_of(location), format=kind.value, added_by=actor.person
    )
    facts.index_words(table)
    with transaction.atomic():
        found, fresh = _get_or_create(table)
        if fresh or found.hidden_at is not None:
            record(actor, Action.TABLE_ADD, ObjectKind.TABLE, found.id, found.name, after={"path": found.path})
            if found.hidden_at is not None:
                Table.objects.filter(pk=found.pk).update(hidden_at=None)
            found.hidden_at, fresh = None, True
    return found, fresh


def _get_or_create(table: Table) -> tuple[Table, bool]:
    try:
        with transaction.atomic():
            table.save(force_insert=True)
        return table, True
    except IntegrityError:
        return Table.objects.select_related("root").get(path=table.path), False


def name_of(location: Location[Root]) -> str:
    """What people call a table without a catalog name: its path below the root."""
    return "/".join(location.below) or location.path.rpartition("/")[2]


def add_found(actor: Actor, root: Root, paths: Sequence[str]) -> list[Added]:
    """Adds what was ticked in the list of a scan. The light worker reads the logs, since hundreds take their time.

    All of them or none: raises Problem as `add_table` does.
    """
    if len(paths) > MAX_TICKED:
        raise Problem(400, "invalid", f"At most {MAX_TICKED} tables are added at once.")
    found = set(Finding.objects.filter(root=root, path__in=paths).values_list("path", flat=True))
    if unknown := [path for path in paths if path not in found]:
        raise Problem(400, "invalid", f"{unknown[0]} is not among what the scan found.")
    person, roots = person_of(actor), list(Root.objects.all())
    places = [
        locate(person, path, roots) for path in sorted(set(paths))
    ]  # in one order, so that two batches take turns
    rows = queries.visible_to(person).select_related("root").filter(path__in=[place.path for place in places])
    known = {table.path: table for table in rows}
    kinds = {place.path: _addable(person, place) for place in places if place.path not in known}
    with transaction.atomic():
        entered = [Added(*enter(actor, place, kinds[place.path])) for place in places if place.path in kinds]
        new = [added.table.pk for added in entered if added.is_new]
        Table.objects.filter(pk__in=new).update(next_sync_at=Now())
    return [*entered, *(Added(table, is_new=False) for table in known.values())]


def _addable(person: Person, location: Location[Root]) -> Kind:
    """What lies at a place that the person may add. Raises Problem as `add_table`."""
    require_below(person, location.root)
    refuse_inside_table(location)
    return kind_at(location.path)


def update_table(
    actor: Actor,
    table: Table,
    *,
    owner: str | None = None,
    description: str | None = None,
    tags: Iterable[str] | None = None,
) -> Table:
    """Changes what people say of a table; None leaves a field as it is.

    Owner and description need TABLE_ADD on the table, tags TAG_MANAGE. Raises Problem 403 `forbidden`, 400 `invalid`.
    """
    wanted: dict[str, object] = {}
    if owner is not None:
        wanted["owner"] = _short("owner", owner, 100)
    if description is not None:
        wanted["description"] = _short("description", description, 10_000)
    if wanted:
        require_on(actor, table, Permission.TABLE_ADD)
    if tags is not None:
        require_on(actor, table, Permission.TAG_MANAGE)
        wanted["tags"] = sorted({_short("tags", tag, 50) for tag in tags} - {""})
    changed = {name: value for name, value in wanted.items() if getattr(table, name) != value}
    return _change(actor, table, changed) if changed else table


def _change(actor: Actor, table: Table, changed: dict[str, object]) -> Table:
    with transaction.atomic():
        fresh = Table.objects.select_for_update(of=("self",)).select_related("root", "schema").get(pk=table.pk)
        before = {name: getattr(fresh, name) for name in changed}
        record(actor, Action.TABLE_CHANGE, ObjectKind.TABLE, fresh.id, fresh.name, before=before, after=changed)
        for name, value in changed.items():
            setattr(fresh, name, value)
        facts.index_words(fresh)
        fresh.save(update_fields=[*changed, "leaf", "words", "grams"])
    return fresh


def _short(field: str, text: str, length: int) -> str:
    if len(text) > length or "\x00" in text:
        raise Problem(400, "invalid", f"{field} has at most {length:,} characters.", fields={field: "too long"})
    return text.strip()


def require_on(actor: Actor, table: Table, permission: Permission) -> None:
    """Raises Problem 403 `forbidden` unless the actor has the permission on the table."""
    if actor.person is None:
        return
    if not actor.person.scopes(permission).covers_table(table.root_id, table.pk):
        detail = f"This needs {permission.value} on {table.name}, which none of your roles gives."
        raise Problem(403, "forbidden", detail)


def hide_table(actor: Actor, table: Table) -> None:
    """Takes a table out of the catalog's lists. Its history and the audit stay; data are never touched.

    A catalog name that it had is free for another table. Raises Problem: 403 `forbidden`; 409 `in_use` or `sync_running` for a
    table with a name.
    """
    require_on(actor, table, Permission.TAG_MANAGE)
    with transaction.atomic():
        fresh = locked(table) if table.catalog_name else table
        name, before = fresh.name, {"catalog_name": fresh.catalog_name} if fresh.catalog_name else None
        if fresh.catalog_name:
            refuse_in_use(fresh)
            write_name(fresh, None, None)
        if Table.objects.filter(pk=table.pk, hidden_at=None).update(hidden_at=Now(), next_sync_at=None):
            record(
                actor, Action.TABLE_HIDE, ObjectKind.TABLE, table.id, name, before=before, after={"path": table.path}
            )


def locked(table: Table) -> Table:
    """The entry as it is now, with no sync of it running and no job of it beginning until the transaction ends."""
    take_turn(table)
    return Table.objects.select_for_update(of=("self",)).select_related("root", "schema").get(pk=table.pk)


def refuse_in_use(table: Table) -> None:
    """Raises Problem 409 `in_use` while a job of the table is under way."""
    if behind.is_under_way(table):
        detail = f"A job of {table.catalog_name} has not ended; it may go by this name. Nothing was changed."
        raise Problem(409, "in_use", detail)


def write_name(table: Table, name: str | None, entry: dict[str, Any] | None) -> None:
    """Sets what the table is called: its name in the catalog, else where it lies. `table` is `locked`."""
    below = table.path.removeprefix(real_root(table.root.uri)).strip("/")
    table.catalog_name, table.catalog_entry = name, entry
    table.name = name or below or table.path.rpartition("/")[2]
    facts.index_words(table)
    table.save(update_fields=["catalog_name", "name", "catalog_entry", "leaf", "words", "grams"])


@dataclass(frozen=True, slots=True)
class Synced:
    """A table after somebody asked for a sync. `asked` is the question to the light worker that is not answered yet."""

    table: Table
    asked: uuid.UUID | None = None


def sync_table(actor: Actor, table: Table, seconds: float | None = None) -> Synced:
    """Has the light worker read what is new in a table's log, because somebody asked, and waits for it `seconds` at most.

    Where no light worker begins with it, the log is read here. Raises Problem: 403 `forbidden`; 409 `sync_running` when another
    sync of the table doesn't end within TURN_SECONDS; 503 `worker_lost` when workers were lost over it.
    """
    require_on(actor, table, Permission.TABLE_ADD)
    person = person_of(actor)
    with transaction.atomic():
        record(actor, Action.TABLE_SYNC, ObjectKind.TABLE, table.id, table.name)
        asked = _ask_sync(person, table)
        if asked is None:
            return Synced(_sync_here(table))
    done = behind.await_sync(asked, PATIENCE_SECONDS, SYNC_SECONDS_WAITED if seconds is None else seconds)
    if done is None:
        with transaction.atomic():
            return Synced(_sync_here(table))
    return Synced(syncing.entry(table.pk), None if done else asked)


def _sync_here(table: Table) -> Table:
    take_turn(table)
    return syncing.sync(table.pk, doubting=True)


def sync_asked(table_id: uuid.UUID) -> Table:
    """What the light worker does for `sync_table` and `add_table`. Raises Problem 409 `sync_running` as they do: a table that is
    being read must not hold up a worker that has others to read."""
    with transaction.atomic():
        return _sync_here(Table.objects.get(pk=table_id))


def take_turn(table: Table) -> None:
    """As `sync.wait_for_turn`, for a request that can't wait for ever. Raises Problem 409 `sync_running`."""
    until = time.monotonic() + TURN_SECONDS
    while not syncing.try_turn(table.pk):
        if time.monotonic() >= until:
            detail = f"{table.name} is being read by another sync right now. Nothing was done; ask again in a moment."
            raise Problem(409, "sync_running", detail)
        time.sleep(0.1)


def sync_next_due() -> bool:
    """Does what waits for the light worker: a scan, else a root's counts, else the sync that is longest past its time.

    Counts come before syncs, of which a large catalog always has one that is due; a root is counted once a minute at most.
    False when nothing waits.
    """
    if scans.scan_next_asked() or facets.refresh_next():
        return True
    table_id = syncing.claim_due()
    if table_id is None:
        return False
    syncing.sync(table_id)
    return True


def ensure_sample(home: Path, person: Person | None = None) -> tuple[Root, bool]:
    """The root of the sample lake, written and registered at the first call. The flag says that this call did it."""
    lake = sample.write_lake(home)
    known = Root.objects.filter(name=sample.ROOT_NAME).first()
    if known is not None:
        return known, False
    actor = Actor.acting_for(person) if person else Actor.system("up")
    root = add_root(actor, sample.ROOT_NAME, str(lake))
    scans.scan_root(root.pk)
    return root, True
