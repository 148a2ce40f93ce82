"""The source of a stream: files of one format below a directory, or a Delta table, as the person may read them."""

from __future__ import annotations

import json
import os
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
from jobs.streams.faults import invalid
from jobs.streams.file_listing import directory_columns
from jobs.streams.options import of_source, options_of
from jobs.targets import places
from jobs.targets.subject import Subject, subject_of
from tables.catalog import listing
from tables.catalog.additions import refuse_inside_table
from tables.models import Table
from tables.rules import folders

Asked = Mapping[str, Any]


def source_of(
    actor: Actor, given: Asked, options: Mapping[str, str], is_new: bool
) -> tuple[FileSource | TableSource, dict[str, Any], Table | None]:
    """The source, its struct, and the catalog's entry of a table. `is_new`: no round has read it, so it is read from its start."""
    if bool(given.get("path")) == bool(given.get("table")):
        raise invalid("source", "Name either the path of a directory with files, or a Delta table.")
    if given.get("table"):
        return _table_source(actor, given, options, is_new)
    return _file_source(actor, given, options)


def _file_source(actor: Actor, given: Asked, options: Mapping[str, str]) -> tuple[FileSource, dict[str, Any], None]:
    form = str(given.get("format") or "")
    if form not in FILE_FORMATS:
        raise invalid(
            "source.format", f"Choose one of {', '.join(FILE_FORMATS)}; to read a Delta table, name it as the table."
        )
    place = places.by_path(actor, str(given["path"]), Action.STREAM_CREATE)
    _require_rows(actor, place)
    if place.location is not None:
        refuse_inside_table(place.location)
    if places.is_delta(place.path):
        raise invalid("source.path", f"{place.path} is a Delta table: read it as a table, not as files.")
    _require_listing(place.path)
    struct = source_schema.parse_source_schema(given.get("schema") or "")
    own = {**options, **options_of(given.get("options") or {})}
    allowed = (*FILE_OPTIONS, *FORMAT_OPTIONS[form])
    source = FileSource(place.path, form, struct, of_source(own, allowed, form))
    _refuse_unnamed_columns(source, struct)
    return source, struct, None


def _require_listing(path: str) -> None:
    """Raises Problem 422 `unreadable` if Levee can't list the directory: no round could read it either."""
    try:
        with os.scandir(path) if path.startswith("/") else closing(folders.of(path).entries(path)) as entries:
            next(entries, None)
    except folders.StoreRefused as error:
        text = f"Levee can’t read {path}: {error}. Check the credentials of its root."
        raise Problem(422, "unreadable", text, fields={"source.path": text}) from None
    except OSError as error:
        text = f"Levee can’t read {path}: {error.strerror}. Give Levee’s user the right to list and read it."
        raise Problem(422, "unreadable", text, fields={"source.path": text}) from None


def _refuse_unnamed_columns(source: FileSource, struct: Mapping[str, Any]) -> None:
    """Spark adds a column for each `x=1` directory, whether the schema names it or not: what isn't named would come unseen."""
    named = {field["name"].lower() for field in struct["fields"]}
    for column in directory_columns(source):
        if column.lower() not in named:
            text = f"The directory has files in {column}=… directories, which Spark reads as a column: add {column} to the schema."
            raise invalid("source.schema", text, "schema_refused")


def _table_source(
    actor: Actor, given: Asked, options: Mapping[str, str], is_new: bool
) -> tuple[TableSource, dict[str, Any], Table]:
    table = readable_table(actor, str(given["table"]))
    subject = subject_of(table.pk)
    version, timestamp = given.get("starting_version"), given.get("starting_timestamp")
    if version is not None and timestamp:
        raise invalid("source.starting_version", "Start from a version or from a time, not from both.")
    if version is not None:
        _check_version(version, subject, is_new)
    own = {**options, **options_of(given.get("options") or {})}
    source = TableSource(
        table=str(table.pk),
        path=table.path,
        table_id=subject.metadata.id,
        starting_version=version,
        starting_timestamp=_timestamp(timestamp),
        skip_change_commits=bool(given.get("skip_change_commits")),
        options=of_source(own, TABLE_OPTIONS, "delta"),
    )
    return source, struct_of(subject), table


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
