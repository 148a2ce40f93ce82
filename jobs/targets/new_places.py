"""An empty or new directory below a root, where a command makes a table."""

from __future__ import annotations

import os
from contextlib import closing, suppress
from functools import partial

from django.db import transaction

from console.accounts.admins import who_gives_roles
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import refuse
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Stream
from jobs.targets import access
from jobs.targets.places import Place, by_path, is_delta
from tables.catalog.adding.additions import enter_empty, refuse_inside_table
from tables.models import Root, Table
from tables.rules.discovery import DirectoryKind, Unclear, kind_of
from tables.rules.locations import Location, innermost
from tables.storage.local import directories as places
from tables.storage.stores import folders_at


def new_place(actor: Actor, path: str) -> Place:
    """The place at a path that is an empty directory, or the name of a new one in a directory that is there. Makes nothing.

    Raises Problem: 403 `outside_roots`, `forbidden` (both recorded), 404 `not_found` where its parent isn't there either,
    409 `inside_table` (of Delta, or of parquet in the catalog), `foreign_checkpoint`, 422 `not_empty`, `unreadable`.
    """
    place, is_new = _place(actor, path)
    if not access.may_request_at(require_person(actor), place):
        text = f"You may view this path, but making a table there takes the operator role. {who_gives_roles()}"
        refuse(actor, Action.JOB_REQUEST, ObjectKind.PATH, place.path, place.path, Problem(403, "forbidden", text))
    if place.location is not None:
        refuse_inside_table(place.location)
        _refuse_inside_parquet(place.location)
    _refuse_checkpoints(place.path)
    if not is_new:
        _refuse_content(place.path)
    return place


def new_entry(actor: Actor, place: Place) -> Table:
    """The catalog's entry of the place, a parquet entry until it has a table. In the request's transaction.

    Once that has committed, the directory is made if it isn't there: without a record of the request nothing is. A run says so if
    the system didn't let Levee make it.
    """
    if place.location is None:
        return Table.objects.get(path=place.path)
    if place.location.is_local:
        transaction.on_commit(partial(_make, place.path), robust=True)
    return place.table or enter_empty(actor, place.location)


def _place(actor: Actor, path: str) -> tuple[Place, bool]:
    """The place, and whether nothing is there yet."""
    try:
        return by_path(actor, path, Action.JOB_REQUEST), False
    except Problem as problem:
        parent, _, name = path.rstrip("/").rpartition("/")
        if problem.status != 404 or not parent or name in {"", ".", ".."}:
            raise
    return _below(by_path(actor, parent, Action.JOB_REQUEST), name), True


def _below(above: Place, name: str) -> Place:
    """The place of a new directory, perhaps in a root of its own."""
    path = f"{above.path}/{name}"
    known = Table.objects.filter(path=path).first()
    root = innermost(path, Root.objects.all())
    if root is not None and root != above.root:
        return Place(root, path, Location(root, path, ()), known)
    below = above.location.below if above.location is not None else ()
    return Place(above.root, path, Location(above.root, path, (*below, name)), known)


def _make(path: str) -> None:
    """Makes the directory in its parent, which is entered over no link. Raises OSError."""
    parent, _, name = path.rpartition("/")
    with places.opened(parent or "/") as descriptor, suppress(FileExistsError):
        os.mkdir(name, dir_fd=descriptor)


def _refuse_inside_parquet(location: Location[Root]) -> None:
    """Readers of a directory of parquet files also read what lies below it. Raises Problem 409 `inside_table`, 422 `unreadable`."""
    path, count = location.path, len(location.below)
    above = [path.rsplit("/", number)[0] for number in range(1, count + 1)]
    known = Table.objects.filter(path__in=above, format=DirectoryKind.PARQUET, hidden_at=None).order_by("path")
    for table in known.values_list("path", flat=True):
        try:
            is_parquet = (
                kind_of(table) is DirectoryKind.PARQUET
            )  # an entry may also be of a place that has no files yet
        except Unclear as error:
            raise Problem(422, "unreadable", f"Levee can’t tell what {table} holds: {error}.") from None
        if is_parquet:
            text = f"{path} is inside the parquet table {table}, whose readers would read its files too. Choose another directory."
            raise Problem(409, "inside_table", text, fields={"target": text}, table_path=table)


def _refuse_content(path: str) -> None:
    if is_delta(path):
        text = f"{path} is a Delta table. Choose an empty or a new directory."
        raise Problem(422, "not_empty", text, fields={"target": text})
    name = _first_name(path)
    if name is not None:
        text = f"{path} isn’t empty: it holds {name[:60]}. Choose an empty or a new directory."
        raise Problem(422, "not_empty", text, fields={"target": text})


def _first_name(path: str) -> str | None:
    """A name in the directory; None if it is empty. Raises Problem 422 `unreadable`."""
    try:
        with closing(folders_at(path).entries(path)) as entries:
            return next((entry.name for entry in entries), None)
    except OSError as error:
        raise Problem(422, "unreadable", f"Levee can’t read {path}: {error.strerror or error}.") from None


def _refuse_checkpoints(path: str) -> None:
    """What lies in a stream's checkpoint belongs to its query. Raises Problem 409 `foreign_checkpoint`."""
    for checkpoint in Stream.objects.filter(removed_at=None).values_list("checkpoint", flat=True):
        if f"{path}/".startswith(f"{checkpoint}/") or f"{checkpoint}/".startswith(f"{path}/"):
            text = f"{path} is, holds or lies in the checkpoint of a stream. Choose another directory."
            raise Problem(409, "foreign_checkpoint", text, fields={"target": text})
