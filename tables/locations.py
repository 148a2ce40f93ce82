"""The one door for paths: what a person types becomes a place below a registered root, or is refused.

Paths are literal. `/lake/50% off` is a name, nothing is decoded, and no character means a pattern; a path that could
only be read as a pattern is refused. Only `scheme://` makes a URI; `file:` and an absolute path is that path.

A place is judged by components, on real paths on both sides: a link below a root is never followed. What lies outside
the roots is refused from its text alone, without a look at the disk, so that the refusal says nothing about what is
there.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

GLOB_CHARACTERS = frozenset("*?[]{}")
MAX_BYTES = 2_000  # of a path as UTF-8: an index of PostgreSQL holds no entry beyond 2,704
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# Control characters, and bytes that are no UTF-8: no path that Levee takes or finds holds them.
NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class LocationError(Exception):
    """A path that Levee doesn't take. `code` and `status` are those of the API, the message is for a person."""

    code = "outside_roots"
    status = 403


class OutsideRoots(LocationError):
    """The path is not below a root that the asker may see; nothing was listed."""


class NoSuchDirectory(LocationError):
    """The path is below a root, and no directory is there."""

    code = "not_found"
    status = 404


class Unreadable(LocationError):
    """The path is below a root, and the operating system doesn't say what is there: it may be back in a moment."""

    code = "unreadable"
    status = 422


class InvalidRoot(LocationError):
    """The path or URI can't be a root. `message` says why."""

    code = "invalid_root"
    status = 400


class HasUri(Protocol):
    """Whatever has a `uri`: a root."""

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
        """The same place as Delta writes it: `file:/lake/orders`, `s3a://bucket/orders`."""
        return self.path if _SCHEME.match(self.path) else f"file:{self.path}"

    @property
    def is_local(self) -> bool:
        return self.path.startswith("/")


def canonical(text: str) -> str:
    """The canonical text of an absolute path or URI, judged from the text alone.

    Doubled and trailing slashes and `.` go; `file:/a`, `file:///a` and `/a` are one. Raises OutsideRoots for what is
    relative, climbs (`..`), holds control characters, or is longer than any path may be.
    """
    prefix, components = _split(text)
    return prefix + "/" + "/".join(components)


def fits(path: str) -> bool:
    """Whether a path is short enough for the catalog."""
    return len(path.encode("utf-8", "surrogatepass")) <= MAX_BYTES


def _split(text: str) -> tuple[str, tuple[str, ...]]:
    """The scheme and authority ("" for local files) and the components."""
    if not fits(text) or NOT_IN_PATHS.search(text):
        raise OutsideRoots(f"This is not a path: it is longer than {MAX_BYTES:,} bytes, or holds control characters.")
    prefix, path = _without_scheme(text)
    if not path.startswith("/"):
        raise OutsideRoots("Only absolute paths are taken, such as /lake/orders.")
    components = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in components:
        raise OutsideRoots("A path with “..” is not taken.")
    return prefix, components


def _without_scheme(text: str) -> tuple[str, str]:
    if text[:5].lower() == "file:":
        rest = text[5:]
        if rest.startswith("//") and not rest.startswith("///"):
            raise OutsideRoots("A file URI that names a host is not taken.")
        return "", rest
    match = _SCHEME.match(text)
    if match is None:
        return "", text
    authority, slash, path = text[match.end() :].partition("/")
    if not authority or "@" in authority:
        raise OutsideRoots("A URI needs a bucket or host, and carries no credentials.")
    return f"{match[1].lower()}://{authority}", slash + path if slash else "/"


def resolve(text: str, roots: Iterable[R], may_see: Callable[[R], bool] = lambda _root: True) -> Location[R]:
    """The place that `text` names, below the innermost of `roots`.

    A root that the asker may not see counts as outside, also where it lies inside one that they may see. Raises
    OutsideRoots (nothing is looked at then), NoSuchDirectory or Unreadable.
    """
    location = _innermost(_split(text), roots)
    if location is None or not may_see(location.root):
        raise OutsideRoots(f"{text} is not below a root that you may see.")
    if location.is_local:
        _require_directory(location, text)
    elif GLOB_CHARACTERS & set(text):
        raise OutsideRoots(f"{text} is a pattern; one directory is asked for.")
    return location


def innermost(text: str, roots: Iterable[R]) -> R | None:
    """The root that owns a path, by its text alone; None outside all of them. Raises OutsideRoots for what is no path."""
    location = _innermost(_split(text), roots)
    return None if location is None else location.root


def _innermost(asked: tuple[str, tuple[str, ...]], roots: Iterable[R]) -> Location[R] | None:
    """Compares components with those of each root, as registered and as the disk really has it."""
    prefix, components = asked
    best: Location[R] | None = None
    depth = -1
    for root in roots:
        for known, start in _spellings(root.uri):
            if known == prefix and components[: len(start)] == start and len(start) > depth:
                depth, below = len(start), components[len(start) :]
                best = Location(root, real_root(root.uri).rstrip("/") + "".join(f"/{part}" for part in below), below)
    return best


def _spellings(uri: str) -> set[tuple[str, tuple[str, ...]]]:
    return {_split(uri), _split(real_root(uri))}


def real_root(uri: str) -> str:
    """The canonical text of a root, links in it resolved for local files."""
    text = canonical(uri)
    return os.path.realpath(text) if text.startswith("/") else text


def _require_directory(location: Location[R], text: str) -> None:
    """Walks down from the root. Refuses any link on the way, then a missing directory, then a pattern.

    Missing is only what the operating system calls so: a share that doesn't answer has not lost its tables.
    """
    path = real_root(location.root.uri)
    try:
        found = os.lstat(path)
        for part in location.below:
            path = f"{path.rstrip('/')}/{part}"
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                raise OutsideRoots(f"{text} leads over a link; links below a root are not followed.")
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise Unreadable(f"{text} can’t be looked at now: {error.strerror}.") from None
        if GLOB_CHARACTERS & set(text):
            raise OutsideRoots(f"{text} is a pattern; one directory is asked for.") from None
        raise NoSuchDirectory(f"There is no directory {text}.") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NoSuchDirectory(f"{text} is not a directory.")


def root_uri(text: str) -> str:
    """The canonical URI or path under which a new root is registered.

    A local root must be an existing directory other than `/`; its links are resolved once, here. Raises InvalidRoot.
    """
    try:
        uri = canonical(text)
    except OutsideRoots as error:
        raise InvalidRoot(str(error)) from None
    if not uri.startswith("/"):
        return uri.rstrip("/")
    real = os.path.realpath(uri)
    if real == "/":
        raise InvalidRoot("The whole file system can't be a root.")
    if not os.path.isdir(real):  # noqa: PTH112 - real paths are texts here, as the catalog keeps them
        raise InvalidRoot(f"There is no directory {uri}.")
    return real
