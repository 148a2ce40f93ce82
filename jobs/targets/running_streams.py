"""Directories that running streams are at: they aren't converted meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models.fields.json import KT

from console.accounts.models import Person
from console.accounts.roles import Permission
from jobs.models import Stream


def running_at(person: Person, paths: Sequence[str]) -> dict[str, str]:
    """By path, a sentence for each directory that a running stream reads files of or writes into: it isn't converted meanwhile.

    One query. The name of a stream is told to those alone who may see its target.
    """
    running = Stream.objects.filter(state__in=[Stream.State.RUNNING, Stream.State.STOPPING], removed_at=None)
    rows = running.values_list("name", "table__path", "table_id", "table__root_id", KT("definition__source__path"))
    scopes = person.scopes(Permission.TABLE_READ)
    said: dict[str, str] = {}
    for name, target, table_id, root_id, source in rows.order_by("name"):
        stream = f"the stream {name}" if scopes.covers_table(root_id, table_id) else "a stream"
        for path in paths:
            if path == target:
                said.setdefault(
                    path, f"Not to be converted while {stream} writes here: its first commit makes the Delta table."
                )
            elif source and _share_files(path, source):
                said.setdefault(path, f"Not to be converted while {stream} reads its files: stop the stream first.")
    return said


def _share_files(path: str, source: str) -> bool:
    """Whether one is the other, or lies in it."""
    return path == source or path.startswith(f"{source}/") or source.startswith(f"{path}/")
