"""Naming a table in Levee's own catalog. Spark gets the name when a command or a read needs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog import entries, listing, rights
from tables.catalog.adding import additions
from tables.catalog.adding.additions import Added
from tables.models import Root, SyncTimes, Table
from tables.rules.catalog_names import CatalogEntry, InvalidEntry, InvalidName, canonical_name, declared
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import GLOB_CHARACTERS, Location
from tables.sync import table as syncing

PATTERN = GLOB_CHARACTERS | {"\\"}  # what Spark expands in the place of a parquet table
FORMATS = tuple(kind.value for kind in DirectoryKind)
NOTHING_DECLARED = CatalogEntry(None, ())


def name_table(
    actor: Actor,
    name: str,
    path: str,
    source_format: str,
    schema: Any = None,
    partition_columns: Sequence[str] | None = None,
) -> Added:
    """Gives the table or directory at `path` the name `name`, which then works in conversions and readings.

    The directory becomes a table of the catalog where it is none yet. `source_format` says what it is; for parquet, `schema`
    (Spark's JSON struct of all columns) and `partition_columns` may declare what a conversion by name then goes by. The same
    name again for the same place only replaces that declaration; `is_new` says that the name is. Raises Problem: 400 `invalid`
    or `bad_column_name`, 403 `outside_roots` or `forbidden`, 404 `no_table`, 409 `not_delta`, `already_delta`, `inside_table`,
    `already_known` (one name per table, one table per name), `sync_running`.
    """
    wanted = _canonical(name)
    entry = _declared(source_format, schema, partition_columns)
    location = _allowed(actor, path)
    _refuse_other_kind(location, source_format, entry)
    _refuse_taken(wanted, location.path)
    added = additions.add_table(actor, location.path)
    table = added.table
    if added.is_new and table.synced_at is None and not table.sync_error:
        detail = (
            f"{location.path} was added, and its log is still being read. Set the name again once Levee has read it."
        )
        raise Problem(409, "sync_running", detail)
    if table.format != source_format:  # it was converted, or its log removed, since the catalog looked last
        syncing.sync(table.pk)
    return _named(actor, table, wanted, entry)


def _allowed(actor: Actor, path: str) -> Location[Root]:
    """The place, for a person who may add or change its table."""
    person = rights.person_of(actor)
    location = additions.locate(person, path)
    known = listing.known_at(person, location.path)
    if known is None:
        rights.require_below(person, location.root)
    else:
        rights.require_on(actor, known, Permission.TABLE_ADD)
    return location


def _canonical(name: str) -> str:
    try:
        return canonical_name(name)
    except InvalidName as error:
        raise Problem(400, "invalid", str(error), fields={"name": str(error)}) from None


def _declared(source_format: str, schema: Any, partition_columns: Sequence[str] | None) -> CatalogEntry:
    if source_format not in FORMATS:
        detail = "You can name a Delta table or a parquet directory: source_format must be delta or parquet."
        raise Problem(400, "invalid", detail, fields={"source_format": detail})
    if source_format == DirectoryKind.DELTA and (schema is not None or partition_columns):
        detail = "A Delta table’s schema and partitions come from its log; declare them for a parquet directory only."
        raise Problem(400, "invalid", detail, fields={"schema": detail})
    try:
        return declared(schema, partition_columns)
    except InvalidEntry as error:
        engine = {"condition": error.condition, "sqlstate": error.sqlstate, "message": str(error)}
        fields = {error.field: str(error)}
        raise Problem(400, error.code, str(error), fields=fields, engine=engine if error.condition else None) from None


def _refuse_other_kind(location: Location[Root], source_format: str, entry: CatalogEntry) -> None:
    """Refuses another kind: Spark would create an empty table where USING delta finds none, and read stale files beside a log."""
    path = location.path
    kind = additions.kind_at(path)
    if source_format == DirectoryKind.DELTA and kind is not DirectoryKind.DELTA:
        raise Problem(409, "not_delta", f"{path} is not a Delta table: its log holds no commit. Nothing was named.")
    if source_format == DirectoryKind.PARQUET and kind is DirectoryKind.DELTA:
        raise Problem(409, "already_delta", f"{path} is a Delta table. Name it with source_format delta.")
    if kind is DirectoryKind.PARQUET:
        additions.refuse_inside_other_format(location)
    if kind is DirectoryKind.PARQUET and PATTERN & set(path):
        detail = (
            f"{path} holds a character that Spark reads as a pattern in a named table’s place. Convert it by its path."
        )
        raise Problem(400, "invalid", detail, fields={"path": detail})


def add_named(actor: Actor, name: str, path: str, source_format: str, entry: CatalogEntry = NOTHING_DECLARED) -> Added:
    """As `name_table`, for one of many tables that a metastore names: the light worker reads a new table's log in its own turn.

    `is_new` says that the table is. Raises Problem as `name_table` does, and 409 `root_paused`.
    """
    wanted = _canonical(name)
    location = _allowed(actor, path)
    _refuse_other_kind(location, source_format, entry)
    _refuse_taken(wanted, location.path)
    rights.refuse_paused(location.root)
    additions.refuse_inside_table(location)
    with transaction.atomic():
        table, is_new = additions.enter(actor, location, DirectoryKind(source_format))
        if is_new:
            SyncTimes.objects.filter(pk=table.pk).update(next_sync_at=Now())
        return Added(_named(actor, table, wanted, entry).table, is_new)


def rename_table(actor: Actor, table: Table, name: str | None) -> Table:
    """Gives a table another name in the catalog, or none: then it is called by its place again.

    A table without a name gets one as by `name_table`. The old name is free for another table. Raises Problem: 400 `invalid`,
    403 `forbidden`, 409 `already_known`, `in_use` while a job of the table is under way, `sync_running`.
    """
    rights.require_on(actor, table, Permission.TABLE_ADD)
    if table.catalog_name is None:
        return table if name is None else name_table(actor, name, table.path, table.format).table
    wanted = None if name is None else _canonical(name)
    try:
        with transaction.atomic():
            fresh = entries.locked(table)
            if fresh.catalog_name != wanted:
                _renamed(actor, fresh, wanted)
    except IntegrityError:
        raise _taken(str(wanted)) from None
    return fresh


def _renamed(actor: Actor, table: Table, wanted: str | None) -> None:
    entries.refuse_in_use(table)
    if wanted is not None:
        _refuse_anothers(wanted, table.path)
    before, after = {"catalog_name": table.catalog_name}, {"catalog_name": wanted}
    act, called = (Action.TABLE_UNNAME, table.name) if wanted is None else (Action.TABLE_NAME, wanted)
    record(actor, act, ObjectKind.TABLE, table.id, called, before=before, after=after)
    entries.write_name(table, wanted, table.catalog_entry if wanted is not None else None)


def _refuse_taken(name: str, path: str) -> None:
    _refuse_anothers(name, path)
    known = Table.objects.filter(path=path).exclude(catalog_name=None).exclude(catalog_name=name).first()
    if known is not None:
        detail = f"{path} already has the name {known.catalog_name}, and a table has only one. Change it with Describe."
        raise Problem(409, "already_known", detail, name=known.catalog_name)


def _refuse_anothers(name: str, path: str) -> None:
    if Table.objects.filter(catalog_name=name).exclude(path=path).exists():
        raise _taken(name)


def _taken(name: str) -> Problem:
    detail = f"Another table already has the name {name}. Nothing was named; choose another name."
    return Problem(409, "already_known", detail, fields={"name": detail})


def _named(actor: Actor, table: Table, name: str, entry: CatalogEntry) -> Added:
    """Writes it, in turn with syncs: they write the words that a search looks through as well."""
    try:
        with transaction.atomic():
            fresh = entries.locked(table)
            _refuse_taken(name, fresh.path)
            before = {"catalog_name": fresh.catalog_name, "catalog_entry": fresh.catalog_entry}
            declared_now = None if fresh.is_delta else entry.as_json()
            after = {"catalog_name": name, "catalog_entry": declared_now}
            if before != after:
                record(actor, Action.TABLE_NAME, ObjectKind.TABLE, fresh.id, name, before=before, after=after)
                entries.write_name(fresh, name, declared_now)
    except IntegrityError:
        raise _taken(name) from None
    return Added(fresh, is_new=before["catalog_name"] is None)
