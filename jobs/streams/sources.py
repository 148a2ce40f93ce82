"""The source of a stream: files of one format below a directory, or a Delta table, as the person may read them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.commands.stream_round.rules import (
    FILE_FORMATS,
    FILE_OPTIONS,
    FORMAT_OPTIONS,
    TABLE_OPTIONS,
    FileSource,
    TableSource,
)
from jobs.lifecycle.cancelling import require_person
from jobs.streams import source_schema
from jobs.streams.faults import Faults, StreamFault, invalid
from jobs.streams.file_listing import directory_columns
from jobs.streams.options import of_source, options_of
from jobs.targets import places
from jobs.targets.subject import Subject, subject_of
from tables.catalog import listing
from tables.catalog.adding.additions import refuse_inside_table
from tables.models import Table
from tables.storage.folders import StoreRefused
from tables.storage.stores import folders_at

Asked = Mapping[str, Any]


def source_of(
    actor: Actor, given: Asked, options: Mapping[str, str], is_new: bool, faults: Faults
) -> tuple[FileSource | TableSource, dict[str, Any], Table | None] | None:
    """The source, its struct, and the catalog's entry of a table; None if it is refused, for all that `faults` then holds.

    `is_new`: no round has read it, so it is read from its start.
    """
    if bool(given.get("path")) == bool(given.get("table")):
        text = "Name either the path of a directory with files, or a Delta table."
        faults.found.append(StreamFault(invalid("source", text), "source"))
        return None
    if given.get("table"):
        return _table_source(actor, given, options, is_new, faults)
    return _file_source(actor, given, options, faults)


def _file_source(
    actor: Actor, given: Asked, options: Mapping[str, str], faults: Faults
) -> tuple[FileSource, dict[str, Any], None] | None:
    form = faults.of("source.format", lambda: _format(given))
    path = faults.of("source.path", lambda: directory_of(actor, str(given["path"])))
    struct = faults.of("source.schema", lambda: source_schema.parse_source_schema(given.get("schema") or ""))
    own = None if form is None else _own_options(given, options, (*FILE_OPTIONS, *FORMAT_OPTIONS[form]), form, faults)
    if form is None or path is None or struct is None or own is None:
        return None
    source = FileSource(path, form, struct, own)
    if faults.of("source.schema", lambda: _named_columns(source, struct)) is None:
        return None
    return source, struct, None


def unread_source(actor: Actor, given: Asked) -> FileSource:
    """A source of files without a schema, whose files Spark may look into. Raises Problem as a stream of it would, all at once."""
    faults = Faults()
    form = faults.of("source.format", lambda: _format(given))
    path = faults.of("source.path", lambda: directory_of(actor, str(given.get("path") or "")))
    own = None if form is None else _own_options(given, {}, (*FILE_OPTIONS, *FORMAT_OPTIONS[form]), form, faults)
    faults.raise_all()
    return FileSource(str(path), str(form), {"type": "struct", "fields": []}, own or {})


def _format(given: Asked) -> str:
    form = str(given.get("format") or "")
    if form not in FILE_FORMATS:
        raise invalid(
            "source.format", f"Choose one of {', '.join(FILE_FORMATS)}; to read a Delta table, name it as the table."
        )
    return form


def _own_options(
    given: Asked, options: Mapping[str, str], allowed: tuple[str, ...], form: str, faults: Faults
) -> dict[str, str] | None:
    """The source's options, those among the stream's included; None if one is refused, at the part that names it."""
    own = faults.of("source.options", lambda: of_source(options_of(given.get("options") or {}), allowed, form))
    others = faults.of("options", lambda: of_source(options, allowed, form))
    return None if own is None or others is None else {**others, **own}


def directory_of(actor: Actor, path: str) -> str:
    """The canonical path of a directory whose files the actor may read as rows, and that Levee can list. Raises Problem."""
    place = places.by_path(actor, path, Action.STREAM_CREATE)
    _require_rows(actor, place)
    if place.location is not None:
        refuse_inside_table(place.location)
    if places.is_delta(place.path):
        raise invalid("source.path", f"{place.path} is a Delta table: read it as a table, not as files.")
    _require_listing(place.path)
    return place.path


def _require_listing(path: str) -> None:
    """Raises Problem 422 `unreadable` if Levee can't list the directory: no round could read it either."""
    try:
        with closing(folders_at(path).entries(path)) as entries:
            next(entries, None)
    except StoreRefused as error:
        text = f"Levee can’t read {path}: {error}. Check the credentials of its root."
        raise Problem(422, "unreadable", text, fields={"source.path": text}) from None
    except OSError as error:
        text = f"Levee can’t read {path}: {error.strerror}. Give Levee’s user the right to list and read it."
        raise Problem(422, "unreadable", text, fields={"source.path": text}) from None


def _named_columns(source: FileSource, struct: Mapping[str, Any]) -> set[str]:
    """Spark adds a column for each `x=1` directory, whether the schema names it or not: what isn't named would come unseen."""
    named = {field["name"].lower() for field in struct["fields"]}
    for column in directory_columns(source):
        if column.lower() not in named:
            text = f"The directory has files in {column}=… directories, which Spark reads as a column: add {column} to the schema."
            raise invalid("source.schema", text, "schema_refused")
    return named


def _table_source(
    actor: Actor, given: Asked, options: Mapping[str, str], is_new: bool, faults: Faults
) -> tuple[TableSource, dict[str, Any], Table] | None:
    table = faults.of("source.table", lambda: readable_table(actor, str(given["table"])))
    subject = None if table is None else faults.of("source.table", lambda: subject_of(table.pk))
    timestamp = given.get("starting_timestamp")
    start = faults.of("source.starting_timestamp", lambda: (_timestamp(timestamp),))
    own = _own_options(given, options, TABLE_OPTIONS, "delta", faults)
    version = (
        None if subject is None else faults.of("source.starting_version", lambda: _version(given, subject, is_new))
    )
    if table is None or subject is None or start is None or own is None or version is None:
        return None
    source = TableSource(
        table=str(table.pk),
        path=table.path,
        table_id=subject.metadata.id,
        starting_version=version[0],
        starting_timestamp=start[0],
        skip_change_commits=bool(given.get("skip_change_commits")),
        options=own,
    )
    return source, struct_of(subject), table


def _version(given: Asked, subject: Subject, is_new: bool) -> tuple[int | None]:
    """The version to start from. Raises Problem 400."""
    version = given.get("starting_version")
    if version is not None and given.get("starting_timestamp"):
        raise invalid("source.starting_version", "Start from a version or from a time, not from both.")
    if version is not None:
        _check_version(version, subject, is_new)
    return (version,)


def _check_version(version: int, subject: Subject, is_new: bool) -> None:
    """The log must still hold the version that a query starts from, or it is the next one. Raises Problem 400."""
    first = subject.table.first_version
    if version > subject.version + 1:
        text = f"The source has no version {version:,}: the latest is {subject.version:,}."
        raise invalid("source.starting_version", text)
    if is_new and first is not None and version < first:  # a query that has begun goes on from its checkpoint
        text = f"The source’s log no longer holds version {version:,}: the first that it has is {first:,}."
        raise invalid("source.starting_version", text)


def _timestamp(text: Any) -> str | None:
    """A date or time that Delta reads. Raises Problem 400."""
    if not text:
        return None
    try:
        datetime.fromisoformat(str(text))
    except ValueError:
        raise invalid("source.starting_timestamp", "A time is written as 2026-10-01 or 2026-10-01T08:00:00Z.") from None
    return str(text)


def readable_table(actor: Actor, named: str) -> Table:
    """A Delta table whose rows the actor may read, by id or catalog name. Raises Http404, Problem 403 `forbidden`, 404."""
    person = require_person(actor)
    table_id = uuid_of(named)
    table = listing.table_for(person, table_id) if table_id else listing.named(person, named)
    return listing.table_for(person, table.pk, Permission.TABLE_ROWS)


def uuid_of(text: str) -> uuid.UUID | None:
    """The text as a UUID; None if it is none."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _require_rows(actor: Actor, place: places.Place) -> None:
    if may_read_at(require_person(actor), place):
        return
    text = "You may see this directory, but reading its rows takes a role that reads rows on its root."
    refuse(actor, Action.STREAM_CREATE, ObjectKind.PATH, place.path, place.path, Problem(403, "forbidden", text))


def may_read_at(person: Person, place: places.Place) -> bool:
    """Whether the person may read the rows of files in a directory."""
    scopes = person.scopes(Permission.TABLE_ROWS)
    if place.table is not None and scopes.covers_table(place.root.pk, place.table.pk):
        return True
    return scopes.covers_root(place.root.pk)


def stored_struct(source: FileSource | TableSource) -> dict[str, Any]:
    """The schema of a stored definition's source, a table's as its log has it now. Raises CommandRefused."""
    if isinstance(source, FileSource):
        return dict(source.schema)
    return struct_of(subject_of(uuid.UUID(source.table)))


def struct_of(subject: Subject) -> dict[str, Any]:
    """A Delta table's schema as Spark's struct in JSON."""
    struct: dict[str, Any] = json.loads(subject.metadata.schema_json)
    return struct
