"""Where a stream writes: the target’s directory, made if it isn’t there yet, and the query’s checkpoint."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from console.accounts.admins import who_gives_roles
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.env import Env
from console.base.errors import Problem
from jobs.commands.stream_round.rules import StreamRound
from jobs.domain.errors import CommandRefused, Refusal
from jobs.lifecycle.cancelling import require_person
from jobs.models import Stream
from jobs.policy import protection
from jobs.streams.faults import invalid
from jobs.streams.prediction.values import ExistingTable
from jobs.streams.sources import struct_of, uuid_of
from jobs.targets import access, places
from jobs.targets.metadata import refuse_schema
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from tables.catalog.adding.additions import enter, enter_empty, refuse_inside_table
from tables.deltalog.rules.schema_limits import Use
from tables.models import Root, Table
from tables.rules import discovery
from tables.rules.discovery import DirectoryKind
from tables.rules.locations import Location, innermost
from tables.storage.folders import StoreRefused
from tables.storage.paths import BadPlace
from tables.storage.place import place_of
from tables.storage.stores import folders_at
from tables.sync import log_access

Asked = Mapping[str, Any]


Made = list[Path] | None


def target_place(actor: Actor, given: Asked, made: Made, is_new: bool) -> places.Place:
    """The directory to write into, made (and added to `made`) if only its parent is there; with None nothing is made or entered.

    Raises Problem, Http404.
    """
    place = _target_place(actor, given, made, is_new)
    if is_new:
        protection.require_unprotected(actor, StreamRound.kind, place.path, action=Action.STREAM_CREATE)
        _refuse_checkpoints(place.path)
    return place


def _target_place(actor: Actor, given: Asked, made: Made, is_new: bool) -> places.Place:
    if bool(given.get("path")) == bool(given.get("table")):
        raise invalid("target", "Name either the path of the target or a table of the catalog.")
    if given.get("table"):
        named = str(given["table"])
        table_id = uuid_of(named)
        place = places.by_name(actor, named) if table_id is None else None
        table = access.table_to_change(actor, table_id if table_id else _table_at(place).pk)
        return places.Place(table.root, table.path, None, table)
    place = _place_or_new(actor, str(given["path"]), made)
    if not access.may_request_at(require_person(actor), place):
        text = f"You may view this path, but a stream into it takes the operator role there. {who_gives_roles()}"
        refuse(actor, Action.STREAM_CREATE, ObjectKind.PATH, place.path, place.path, Problem(403, "forbidden", text))
    if is_new:  # of a stream that has begun, a first batch that was killed may have left files: the round looks at them
        _refuse_other_files(place.path)
    if made is not None and place.table is None and places.is_delta(place.path):
        return replace(place, table=entry_of(actor, place))
    return place


def _table_at(place: places.Place | None) -> Table:
    if place is None or place.table is None:
        raise invalid("target.table", "There is no such table.")
    return place.table


def _place_or_new(actor: Actor, path: str, made: Made) -> places.Place:
    """The directory at a path, or a new one in a directory that is there. An object store's needs no making."""
    try:
        return places.by_path(actor, path, Action.STREAM_CREATE)
    except Problem as problem:
        parent, _, name = path.rstrip("/").rpartition("/")
        if problem.status != 404 or not parent or name in {"", ".", ".."}:
            raise
    above = places.by_path(actor, parent, Action.STREAM_CREATE)
    if not access.may_request_at(require_person(actor), above):
        text = f"You may view this path, but a stream into it takes the operator role there. {who_gives_roles()}"
        refuse(actor, Action.STREAM_CREATE, ObjectKind.PATH, path, path, Problem(403, "forbidden", text))
    _refuse_inside(above)
    if above.location is not None and (made is None or not above.location.is_local):
        return _new_prefix(above.location, name)
    if made is None:
        return replace(above, path=f"{above.path}/{name}", table=None)
    _make(Path(above.path, name), made)
    return places.by_path(actor, f"{above.path}/{name}", Action.STREAM_CREATE)


def _new_prefix(above: Location[Root], name: str) -> places.Place:
    """The place of a directory in an object store, which is there as soon as the first file is; perhaps a root of its own."""
    path = f"{above.path}/{name}"
    root = innermost(path, Root.objects.all())
    if root is None or root == above.root:
        return places.Place(above.root, path, Location(above.root, path, (*above.below, name)), None)
    return places.Place(root, path, Location(root, path, ()), None)


def _make(directory: Path, made: list[Path]) -> None:
    """Makes the directory, added to `made` unless another request was first. Raises Problem 422 `unreadable`."""
    try:
        directory.mkdir()
    except FileExistsError:
        return
    except OSError as error:
        raise Problem(422, "unreadable", f"Levee can’t make the directory {directory}: {error.strerror}.") from None
    made.append(directory)


def _refuse_inside(above: places.Place) -> None:
    """A directory below a Delta table is a part of that table: VACUUM would remove what lies there. Raises Problem 400, 409."""
    if places.is_delta(above.path):
        raise invalid("target.path", f"{above.path} is a Delta table: nothing of a stream can lie inside it.")
    if above.location is not None:
        refuse_inside_table(above.location)


def _refuse_other_files(path: str) -> None:
    """A directory that holds anything but a Delta table isn't written into. Raises Problem 422."""
    if places.is_delta(path):
        return
    other = _first_name(path)
    if other is not None:
        text = (
            f"{path} isn’t a Delta table and isn’t empty (it holds {other[:60]})."
            " Convert it to Delta first, or choose an empty directory."
        )
        raise Problem(422, "not_delta", text, fields={"target.path": text})


def _first_name(path: str) -> str | None:
    """A name in the directory; None if it is empty, or isn't there yet. Raises Problem 422 `unreadable`."""
    try:
        with closing(folders_at(path).entries(path)) as entries:
            return next((entry.name for entry in entries), None)
    except FileNotFoundError:
        return None
    except StoreRefused as error:
        raise Problem(422, "unreadable", f"Levee can’t read {path}: {error}.") from None
    except OSError as error:
        raise Problem(422, "unreadable", f"Levee can’t read {path}: {error.strerror}.") from None


def entry_of(actor: Actor, place: places.Place) -> Table:
    """The catalog's entry of the target: a Delta table with its log read, or a directory that waits for its first batch."""
    if place.table is not None:
        return place.table
    if place.location is None:
        return Table.objects.get(path=place.path)
    if not places.is_delta(place.path):
        return enter_empty(actor, place.location)
    table, is_new = enter(actor, place.location, DirectoryKind.DELTA)
    return log_access.sync(table.pk) if is_new else table


def checkpoint_of_query(actor: Actor, path: str | None, stream: uuid.UUID, target: str, source: str, made: Made) -> str:
    """The query's checkpoint: Levee's own place, or an empty or new directory below a root, apart from source and target."""
    if not path:
        return str(Env.read().home / "streams" / str(stream))
    _refuse_stored_checkpoint(path)
    place = _place_or_new(actor, path, made)
    if not access.may_request_at(require_person(actor), place):
        raise invalid("checkpoint", f"A checkpoint below this root takes the operator role there. {who_gives_roles()}")
    for other in (target, source):
        if f"{place.path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{place.path}/"):
            raise invalid("checkpoint", f"The checkpoint and {other} can’t lie inside each other.")
    if place.location is not None:
        refuse_inside_table(place.location)
    _refuse_beside_others(place.path)
    if _first_name(place.path) is not None:
        raise invalid(
            "checkpoint",
            f"{place.path} isn’t empty: a checkpoint belongs to one query, and this may be another’s.",
            "foreign_checkpoint",
        )
    return place.path


def _refuse_stored_checkpoint(path: str) -> None:
    """Spark makes a checkpoint's files whole by renaming them, which an object store can't do; Levee reads them on a disk.

    Raises Problem 400.
    """
    try:
        kind = place_of(path).kind
    except BadPlace as error:
        raise invalid("checkpoint", str(error)) from None
    if kind is None or (kind.is_remote and kind.has_directories):
        where = "elsewhere" if kind is None else kind.where
        text = f"Levee reads checkpoints on a disk, not {where}: leave it empty for Levee’s own place."
        raise invalid("checkpoint", text)
    if kind.is_remote:
        text = f"A checkpoint can’t lie {kind.where}, which can’t rename a file: leave it empty for Levee’s own place."
        raise invalid("checkpoint", text)


def _refuse_beside_others(path: str) -> None:
    """Two checkpoints never lie in each other. Raises Problem 400 `foreign_checkpoint`."""
    if any(other != path for other in _checkpoints_beside(path)):
        text = f"{path} and the checkpoint of another stream lie inside each other."
        raise invalid("checkpoint", text, "foreign_checkpoint")


def _refuse_checkpoints(path: str) -> None:
    """A target neither is another stream's checkpoint, nor lies in one or holds one. Raises Problem 409 `foreign_checkpoint`."""
    if next(_checkpoints_beside(path), None) is not None:
        text = f"{path} is, holds or lies in the checkpoint of another stream. Choose another directory; nothing was created."
        raise Problem(409, "foreign_checkpoint", text, fields={"target.path": text})


def _checkpoints_beside(path: str) -> Iterator[str]:
    """The checkpoints of streams that are the path, lie in it or hold it."""
    for other in Stream.objects.filter(removed_at=None).values_list("checkpoint", flat=True):
        if f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"):
            yield other


def target_subject(table: Table | None) -> Subject | None:
    """The target as its log has it; None while it is no table. Raises CommandRefused `unreadable`, `unsupported_schema`."""
    if table is None or not (table.is_delta or _is_delta_by_now(table.path)):
        return None
    subject = subject_to_change(table.pk)
    refuse_schema(subject.struct, Use.APPEND, table.path)
    return subject


def _is_delta_by_now(path: str) -> bool:
    try:
        return discovery.is_delta(path)
    except discovery.Unclear as error:
        raise CommandRefused(Refusal("unreadable", f"Levee can’t tell what is at {path}: {error}.")) from None


def target_of(subject: Subject | None) -> ExistingTable | None:
    """The target as the prediction takes it."""
    if subject is None:
        return None
    return ExistingTable(
        schema=struct_of(subject),
        partition_columns=tuple(subject.metadata.partition_columns),
        configuration=dict(subject.configuration),
        features=tuple(subject.table.features),
    )
