"""Where directories of this machine really lie: a bind mount gives one directory a second path that no link shows.

The system's table of mounts says so, and none of the directories is asked: one of a share that hangs would never answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tables.storage.paths import is_at_or_below

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """The directory `inner` of a file system of a kind (`ext4`, `nfs4`), mounted at `point`."""

    device: str
    inner: str
    point: str
    kind: str = ""


def listed(text: str) -> list[Mount]:
    """Those of a table as Linux shows it (proc_pid_mountinfo(5)), in its order, in which they were made."""
    fields = [line.split(" ") for line in text.splitlines()]
    return [Mount(row[2], _plain(row[3]), _plain(row[4]), _kind(row)) for row in fields if len(row) > 4]


def _kind(row: Sequence[str]) -> str:
    """What stands after the fields that a line may have any number of, and a hyphen."""
    after = row[row.index("-", 5) + 1 :] if "-" in row[5:] else ()
    return after[0] if after else ""


def kind_at(path: str, known: Iterable[Mount]) -> str:
    """The kind of the file system that a directory lies on; empty if the table doesn't say."""
    around = [mount for mount in known if is_at_or_below(path, mount.point)]
    return max(enumerate(around), key=lambda each: (len(each[1].point), each[0]))[1].kind if around else ""


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def second_name(path: str, others: Iterable[str], known: Iterable[Mount]) -> str | None:
    """The first of other directories that is the same as this one, holds it or lies in it, though their paths don't say so."""
    table = list(known)
    places = _places(path, table)
    for other in others:
        if not _nested(path, other) and any(_meet(one, two) for one in places for two in _places(other, table)):
            return other
    return None


Place = tuple[str, str]  # a device, and the path in its file system


def _places(path: str, table: Sequence[Mount]) -> list[Place]:
    """Where a directory lies, and what is mounted in it."""
    around = [mount for mount in table if is_at_or_below(path, mount.point)]
    inside = [
        (mount.device, mount.inner) for mount in table if mount.point != path and is_at_or_below(mount.point, path)
    ]
    if not around:
        return inside
    deepest = max(len(mount.point) for mount in around)
    own = [mount for mount in around if len(mount.point) == deepest][-1]  # of several at one point the last is seen
    place = f"{own.inner.rstrip('/')}/{path[len(own.point) :].lstrip('/')}"
    return [(own.device, place.rstrip("/") or "/"), *inside]


def _meet(one: Place, other: Place) -> bool:
    return one[0] == other[0] and _nested(one[1], other[1])


def _nested(one: str, other: str) -> bool:
    return is_at_or_below(one, other) or is_at_or_below(other, one)
