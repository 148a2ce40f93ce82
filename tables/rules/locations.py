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
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tables.storage import remote
from tables.storage.hdfs import name_nodes
from tables.storage.local import directories as places
from tables.storage.store import StorageError

GLOB_CHARACTERS = frozenset("*?[]{}")
MAX_BYTES = 2_000  # of a path as UTF-8: an index of PostgreSQL holds no entry beyond 2,704
_OF_THE_SYSTEM = ("/proc", "/sys", "/dev")
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_NAME_NODE = re.compile(r"hdfs://[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?(:[0-9]{1,5})?")
_PORT = re.compile(r"0*([1-9][0-9]{0,4})")
MOST_PORT = 65_535
# HDFS's own names: below them, directories that have a path already are reached by a second one.
_OF_HDFS = frozenset({".snapshot", ".reserved"})
# Control characters, and bytes that are no UTF-8: no path that Levee takes or finds holds them.
NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


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
        return self.path if _SCHEME.match(self.path) else f"file:{self.path}"

    @property
    def is_local(self) -> bool:
        return self.path.startswith("/")


def canonical(text: str) -> str:
    """The canonical text of an absolute path or URI, judged from the text alone.

    Doubled and trailing slashes and `.` go; `file:/a`, `file:///a` and `/a` are one, as are `s3a://b/a` and `s3://b/a`. Raises
    OutsideRoots for what is relative, climbs (`..`), leads through HDFS's own names, holds control characters, or is longer than
    any path may be.
    """
    prefix, components = _split(text)
    return "/".join([prefix, *components]) if components or prefix else "/"


def fits(path: str) -> bool:
    """Whether a path is short enough for the catalog."""
    return len(path.encode("utf-8", "surrogatepass")) <= MAX_BYTES


def _split(text: str) -> tuple[str, tuple[str, ...]]:
    """The scheme and authority ("" for local files) and the components."""
    if not fits(text) or NOT_IN_PATHS.search(text):
        raise OutsideRoots(f"This is not a path: it is longer than {MAX_BYTES:,} bytes, or holds control characters.")
    prefix, path = _without_scheme(text)
    if not path.startswith("/"):
        raise OutsideRoots("Enter an absolute path, such as /lake/orders.")
    components = tuple(part for part in path.split("/") if part not in ("", "."))
    if ".." in components:
        raise OutsideRoots("Levee doesn’t accept a path with “..”.")
    if name_nodes.is_hdfs(prefix) and not _OF_HDFS.isdisjoint(components):
        raise OutsideRoots("Levee doesn’t accept a path on HDFS with “.snapshot” or “.reserved”.")
    return prefix, components


def _without_scheme(text: str) -> tuple[str, str]:
    if text[:5].lower() == "file:":
        rest = text[5:]
        if rest.startswith("//") and not rest.startswith("///"):
            raise OutsideRoots("Levee doesn’t accept a file URI that names a host.")
        return "", rest
    match = _SCHEME.match(text)
    if match is None:
        return "", text
    authority, slash, path = text[match.end() :].partition("/")
    if not authority or "@" in authority:
        raise OutsideRoots("A URI needs a bucket or host, and must not carry credentials.")
    scheme = match[1].lower()
    if scheme == "hdfs":
        authority = _name_node(authority)
    return f"{'s3' if scheme == 's3a' else scheme}://{authority}", slash + path if slash else "/"


def _name_node(authority: str) -> str:
    """A name node's host in small letters, and its port without zeros before it."""
    host, colon, port = authority.lower().partition(":")
    if not colon:
        return host
    match = _PORT.fullmatch(port)
    if match is None or int(match[1]) > MOST_PORT:
        raise OutsideRoots(f"A name node’s port is a number from 1 to {MOST_PORT}.")
    return f"{host}:{match[1]}"


def resolve(text: str, roots: Iterable[R], may_see: Callable[[R], bool] = lambda _root: True) -> Location[R]:
    """The place that `text` names, below the innermost of `roots`.

    A root that the asker may not see counts as outside, also where it lies inside one that they may see. Raises
    OutsideRoots (nothing is looked at then), NoSuchDirectory or Unreadable.
    """
    location = _innermost(_split(text), roots)
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
    location = _innermost(_split(text), roots)
    return None if location is None else location.root


def _innermost(asked: tuple[str, tuple[str, ...]], roots: Iterable[R]) -> Location[R] | None:
    """Compares components with those of each root as it was registered: its links were resolved then, and never again."""
    prefix, components = asked
    best: Location[R] | None = None
    depth = -1
    for root in roots:
        known, start = _split(root.uri)
        if known == prefix and components[: len(start)] == start and len(start) > depth:
            depth, below = len(start), components[len(start) :]
            best = Location(root, "/".join([prefix, *components]), below)
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
    """A prefix is there as long as a key lies below it; HDFS has directories."""
    try:
        if not remote.is_there(location.path):
            is_hdfs = name_nodes.is_hdfs(location.path)
            raise NoSuchDirectory(f"There is no directory {text}." if is_hdfs else f"Nothing lies below {text}.")
    except StorageError as error:
        raise PlaceUnreadable(f"Levee can’t read {text} right now: {error}.") from None


def root_uri(text: str) -> str:
    """The canonical URI or path under which a new root is registered.

    A local root must be an existing directory, and neither `/` nor the system's own; its links are resolved once, here. Raises
    InvalidRoot.
    """
    try:
        uri = canonical(text)
    except OutsideRoots as error:
        raise InvalidRoot(str(error)) from None
    if not uri.startswith("/"):
        return _prefix(uri.rstrip("/"))
    real = os.path.realpath(uri)
    refuse_system(real)
    if not os.path.isdir(real):  # noqa: PTH112 - real paths are texts here, as the catalog keeps them
        raise InvalidRoot(f"There is no directory {uri}.")
    return real


def _prefix(uri: str) -> str:
    """A prefix in an object store or a directory on HDFS, as a root may be one. Raises InvalidRoot."""
    bucket = "/".join(uri.split("/")[:3])
    if not remote.is_remote(uri):
        raise InvalidRoot("Levee reads directories of this machine, s3:// prefixes and hdfs:// directories.")
    if name_nodes.is_hdfs(uri):
        if not _NAME_NODE.fullmatch(bucket):
            raise InvalidRoot(f"{bucket} names no name node: it takes a host and a port, as hdfs://namenode:8020.")
    elif not _BUCKET.fullmatch(bucket):
        raise InvalidRoot(f"{bucket.removeprefix('s3://')} can’t be the name of a bucket.")
    if GLOB_CHARACTERS & set(uri):
        raise InvalidRoot(f"{uri} is a pattern; enter one place.")
    return uri


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


def is_at_or_below(path: str, top: str) -> bool:
    """Whether a path is another or lies below it, by their texts."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")
