"""The directories below the roots that a person may see, one level at a time, for whoever chooses one."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from console.accounts.models import Person
from console.audit.actions import Action
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.targets import places
from jobs.targets.name_patterns import is_hidden
from tables.catalog import listing
from tables.storage.folders import FolderEntry, StoreRefused
from tables.storage.stores import folders_at

LOOKED_AT = 2_000  # names in a directory
SHOWN = 200  # directories


@dataclass(frozen=True, slots=True)
class Below:
    """What lies directly in a directory: `directories` by name, and of its files how many end in what (an empty ending: in nothing).

    `above` is the directory that holds it, None at the top of a root. Not `complete`: there is more than was looked at.
    """

    path: str
    above: str | None
    directories: list[str]
    endings: dict[str, int]
    complete: bool


def tops(person: Person) -> list[str]:
    """The roots where the choice begins."""
    return list(listing.roots_of(person).order_by("uri").values_list("uri", flat=True)[:SHOWN])


def below(actor: Actor, path: str, action: Action) -> Below:
    """What lies in a directory; names that Spark hides are left out, and links are no directories.

    `action` is what the directory is chosen for: a refusal is recorded as one of it. Raises Problem 403 `outside_roots` or `forbidden`,
    404 `not_found`, 422 `unreadable`.
    """
    location = places.by_path(actor, path, action).location
    if location is None:
        raise Problem(403, "forbidden", f"You may see the table at {path}, but not choose from what lies in its root.")
    names, is_all = _names(location.path)
    directories = sorted(name for name, is_directory in names if is_directory)
    endings = Counter(_ending(name) for name, is_directory in names if not is_directory)
    above = location.path.rpartition("/")[0] if location.below else None
    return Below(
        path=location.path,
        above=above,
        directories=[f"{location.path}/{name}" for name in directories[:SHOWN]],
        endings=dict(endings.most_common()),
        complete=is_all and len(directories) <= SHOWN,
    )


def _names(path: str) -> tuple[list[tuple[str, bool]], bool]:
    """(name, whether it is a directory) of what lies there, and whether that is all."""
    try:
        with closing(folders_at(path).entries(path)) as entries:
            found = [(entry.name, _is_directory(entry)) for entry in islice(entries, LOOKED_AT + 1)]
    except OSError as error:
        why = error if isinstance(error, StoreRefused) else error.strerror
        raise Problem(422, "unreadable", f"Levee can’t read {path}: {why}.") from None
    known = [(name, is_directory) for name, is_directory in found[:LOOKED_AT] if is_directory is not None]
    return [each for each in known if _is_visible(each[0])], len(found) <= LOOKED_AT


def _is_directory(entry: FolderEntry) -> bool | None:
    """None for a link, and for what is neither a directory nor a file."""
    if entry.is_dir(follow_symlinks=False):
        return True
    return False if entry.is_file(follow_symlinks=False) else None


def _is_visible(name: str) -> bool:
    return not is_hidden(name) and name.isprintable()


def _ending(name: str) -> str:
    """What follows the last dot of a file's name, what it is packed with aside."""
    plain = name.lower().removesuffix(".gz")
    return plain.rpartition(".")[2] if "." in plain else ""
