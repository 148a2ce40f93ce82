"""Reads a checkpoint's own files: whose it is, and how far its Delta source has come."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jobs.domain.errors import CommandRefused, Refusal
from tables.storage.stores import tree_at
from tables.storage.trees import FILE, Tree

METADATA, OFFSETS = "metadata", "offsets"
REMEDY = "Put the checkpoint back as it was, or reset the stream."


@dataclass(frozen=True, slots=True)
class Offset:
    """A place in a Delta source: a version's commit, or (`is_snapshot`) the files of the version that the stream began with."""

    version: int
    is_snapshot: bool


def query_id_of(checkpoint: str) -> str | None:
    """The id of the checkpoint's query; None while it has none. Raises CommandRefused `unreadable`."""
    try:
        lines = list(tree_at(checkpoint).lines(METADATA))
    except (FileNotFoundError, NotADirectoryError):
        return None
    value = _json(lines, f"{checkpoint}/{METADATA}")
    return str(value.get("id"))


def last_offsets(checkpoint: str) -> list[Offset]:
    """Where the last two batches of a stream from a Delta table ended; fewer at its begin. Raises CommandRefused `unreadable`."""
    storage = tree_at(checkpoint)
    return [_offset(list(storage.lines(name)), f"{checkpoint}/{name}") for name in _newest(_planned(storage))]


def newest_planned(checkpoint: str) -> int:
    """The newest batch that the checkpoint has a plan of; -1 without one."""
    return max(_planned(tree_at(checkpoint)), default=-1)


def _planned(storage: Tree) -> list[int]:
    try:
        return [int(name) for name, kind, _ in storage.entries(OFFSETS) if kind == FILE and name.isdigit()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _newest(numbers: Iterable[int]) -> list[str]:
    return [f"{OFFSETS}/{number}" for number in sorted(numbers)[-2:]]


def _offset(lines: list[bytes], place: str) -> Offset:
    # A version, the batch's settings, then a line for each source.
    value = _json(lines[2:3], place)
    try:
        return Offset(int(value["reservoirVersion"]), bool(value["isStartingVersion"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CommandRefused(_unreadable(place)) from error


def _json(lines: list[bytes], place: str) -> dict[str, Any]:
    try:
        value = json.loads(b"".join(lines))
    except ValueError as error:
        raise CommandRefused(_unreadable(place)) from error
    if not isinstance(value, dict):
        raise CommandRefused(_unreadable(place))
    return value


def _unreadable(place: str) -> Refusal:
    return Refusal("unreadable", f"{place} isn't what Spark writes there.", place=place, remedy=REMEDY)
