"""The one way in for paths: a typed path becomes a place below a registered root, or is refused.

Paths are literal. `/lake/50% off` is a name, nothing is decoded, and no character means a pattern; a path that could
only be read as a pattern is refused. Only `scheme://` makes a URI; `file:` and an absolute path is that path.

A place is judged by components: a root's links are resolved once, when it is registered, and no link is followed
afterwards. What lies outside the roots is refused from its text alone, without a look at the disk, so that the refusal
says nothing about what is there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tables.storage import stores
from tables.storage.kind import StoreKind
from tables.storage.local import directories as places
from tables.storage.paths import BadPlace, is_at_or_below
from tables.storage.place import Place, place_of
from tables.storage.store import StorageError
from tables.storage.stores import SCHEME

GLOB_CHARACTERS = frozenset("*?[]{}")
_OF_THE_SYSTEM = ("/proc", "/sys", "/dev")
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


class LocationError(Exception):
    """A path that Levee refuses. `code` and `status` are those of the API, the message is for the reader."""

    code = "outside_roots"
    status = 403


class OutsideRoots(LocationError):
    """The path is not below a root that the asker may see; nothing was listed."""


class NoSuchDirectory(LocationError):
    """The path is below a root, and no directory is there."""

    code = "not_found"
    status = 404


class PlaceUnreadable(LocationError):
    """The path is below a root, and the system or object store doesn't say what is there: it may be back in a moment."""

    code = "unreadable"
    status = 422


class InvalidRoot(LocationError):
    """The path or URI can't be a root. `message` says why."""

    code = "invalid_root"
    status = 400


class HasUri(Protocol):
    """Anything with a `uri`: a root."""

    @property
    def uri(self) -> Any: ...


R = TypeVar("R", bound=HasUri)


@dataclass(frozen=True, slots=True)
class Location(Generic[R]):
    """A place below a root.

    `path` is the canonical text under which the catalog and the leases know it: an absolute path for local files, a
    URI for object stores. `below` are the components under the root.
    """

    root: R
    path: str
    below: tuple[str, ...]

    @property
    def uri(self) -> str:
        """The same place as Delta writes it: `file:/lake/orders`, `s3://bucket/orders`."""
        return self.path if SCHEME.match(self.path) else f"file:{self.path}"

    @property
    def is_local(self) -> bool:
        return self.path.startswith("/")


def canonical(text: str) -> str:
    """The canonical text of an absolute path or URI (`place_of`), judged from the text alone. Raises OutsideRoots for what is none."""
    return _place(text).path


def _place(text: str) -> Place:
    try:
        return place_of(text)
    except BadPlace as error:
        raise OutsideRoots(str(error)) from None


def resolve(text: str, roots: Iterable[R], may_see: Callable[[R], bool] = lambda _root: True) -> Location[R]:
    """The place that `text` names, below the innermost of `roots`.

    A root that the asker may not see counts as outside, also where it lies inside one that they may see. Raises
    OutsideRoots (nothing is looked at then), NoSuchDirectory or Unreadable.
    """
    location = _innermost(_place(text), roots)
    if location is None or not may_see(location.root):
        raise OutsideRoots(f"{text} is not below a root that you have access to.")
    if location.is_local:
        _require_directory(location, text)
    elif GLOB_CHARACTERS & set(text):
        raise OutsideRoots(f"{text} is a pattern; enter one directory.")
    else:
        _require_stored(location, text)
    return location


def innermost(text: str, roots: Iterable[R]) -> R | None:
    """The root that owns a path, by its text alone; None outside all of them. Raises OutsideRoots for what is no path."""
    location = _innermost(_place(text), roots)
    return None if location is None else location.root


def _innermost(asked: Place, roots: Iterable[R]) -> Location[R] | None:
    """Compares components with those of each root as it was registered: its links were resolved then, and never again."""
    best: Location[R] | None = None
    depth = -1
    for root in roots:
        known = _place(root.uri)
        start = known.components
        if known.prefix == asked.prefix and asked.components[: len(start)] == start and len(start) > depth:
            depth, below = len(start), asked.components[len(start) :]
            best = Location(root, asked.path, below)
    return best


def real_root(uri: str) -> str:
    """The canonical text of a root that is being named, links in it resolved for local files."""
    text = canonical(uri)
    return os.path.realpath(text) if text.startswith("/") else text


def _require_directory(location: Location[R], text: str) -> None:
    """Walks down to it. Refuses any link on the way, then a missing directory, then a pattern.

    Missing is only what the operating system calls so: a share that doesn't answer has not lost its tables.
    """
    try:
        places.walk(location.path)
    except places.PlaceError:
        raise OutsideRoots(f"{text} goes through a link; Levee doesn’t follow links below a root.") from None
    except NotADirectoryError:
        raise NoSuchDirectory(f"{text} is not a directory.") from None
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise PlaceUnreadable(f"Levee can’t read {text} right now: {error.strerror}.") from None
        if GLOB_CHARACTERS & set(text):
            raise OutsideRoots(f"{text} is a pattern; enter one directory.") from None
        raise NoSuchDirectory(f"There is no directory {text}.") from None


def _require_stored(location: Location[R], text: str) -> None:
    """A prefix is there as long as a key lies below it; other storage has directories."""
    kind = stores.kind_of(location.path)
    try:
        if not kind.is_there(location.path):
            raise NoSuchDirectory(
                f"There is no directory {text}." if kind.has_directories else f"Nothing lies below {text}."
            )
    except StorageError as error:
        raise PlaceUnreadable(f"Levee can’t read {text} right now: {error}.") from None


def root_uri(text: str) -> str:
    """The canonical URI or path under which a new root is registered.

    A local root must be an existing directory, and neither `/` nor the system's own; its links are resolved once, here. Raises
    InvalidRoot.
    """
    try:
        place = place_of(text)
        if place.kind is None:
            *first, last = (kind.what for kind in stores.KINDS)
            raise BadPlace(f"Levee reads {', '.join(first)} and {last}.")
        if place.kind.is_remote:
            return _prefix(place, place.kind)
    except BadPlace as error:
        raise InvalidRoot(str(error)) from None
    real = os.path.realpath(place.path)
    refuse_system(real)
    if not os.path.isdir(real):  # noqa: PTH112 - real paths are texts here, as the catalog keeps them
        raise InvalidRoot(f"There is no directory {place.path}.")
    return real


def _prefix(place: Place, kind: StoreKind) -> str:
    """A place elsewhere, as a root may be one. Raises BadPlace."""
    kind.require_root(place.prefix)
    if GLOB_CHARACTERS & set(place.path):
        raise BadPlace(f"{place.path} is a pattern; enter one place.")
    return place.path


def refuse_system(real: str) -> None:
    """Raises InvalidRoot for the whole file system, and for what belongs to the operating system."""
    if real == "/":
        raise InvalidRoot("The whole file system can't be a root.")
    if any(is_at_or_below(real, system) for system in _OF_THE_SYSTEM):
        raise InvalidRoot(f"{real} belongs to the operating system; a root can’t be there.")


def refuse_home(uri: str, home: str, but: str) -> None:
    """Refuses Levee's own files: a person who may add or convert tables there could change its keys and its database.

    `but` is the name of a directory in the home that may be a root. Raises InvalidRoot for a root that is the home, holds it, or
    lies in it.
    """
    real = os.path.realpath(home)
    if is_at_or_below(uri, f"{real}/{but}"):
        return
    if is_at_or_below(uri, real) or is_at_or_below(real, uri):
        raise InvalidRoot(f"Levee’s own files are in {real}; a root can’t be there or contain it.")
