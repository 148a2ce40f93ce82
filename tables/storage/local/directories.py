"""Directories of this machine, entered from the top down: one component at a time, and never over a link.

A path is judged and used in two steps, and a person who may write below a root can put a link in its place between them. What is opened
here was judged by the opening itself, and stays what it is whatever becomes of its name. Spark takes only names: for it a place
remembers device and inode of every component, and is walked again before, while and after it works.

Standard library only: the web process, the log reader, Spark's driver and its Python workers all go by it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

Identity = tuple[int, int]  # device and inode

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PlaceError(OSError):
    """A place that must not be used; `strerror` says why. What is missing or unreadable stays the system's own OSError."""


class Linked(PlaceError):
    """A component of the path, or something below it, is a link."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.ELOOP, f"{name} is a link, and links below a root are not followed")


class Irregular(PlaceError):
    """Something that is neither a file nor a directory: `kind` says what, in words. Reading it may never end."""

    def __init__(self, name: str, mode: int) -> None:
        self.name, self.kind = name, _kind(mode)
        super().__init__(errno.EINVAL, f"{name} is not a regular file but {self.kind}")


_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a directory",
}


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "of an unknown kind")


class Swapped(PlaceError):
    """Another directory lies at the path than before."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.ESTALE, f"{path} is another directory now than when it was looked at first")


@dataclass(frozen=True, slots=True)
class EnteredDirectory:
    """A directory as it was found: its path, with the identity of every component from the top down."""

    path: str
    identities: tuple[Identity, ...]

    def check(self) -> None:
        """Walks there again. Raises Swapped or Linked where it leads elsewhere, OSError where it is gone."""
        if walk(self.path).identities != self.identities:
            raise Swapped(self.path)


def walk(path: str) -> EnteredDirectory:
    """The directory at an absolute path. Raises Linked, FileNotFoundError, NotADirectoryError, other OSError."""
    seen: list[Identity] = []
    os.close(_descend(os.open("/", _STEP), _parts(path), _STEP, seen))
    return EnteredDirectory(path, tuple(seen))


def directory(path: str, flags: int = _LIST) -> int:
    """The directory, opened for listing and for `below`; the caller closes it. Raises as `walk` does."""
    return _descend(os.open("/", _STEP), _parts(path) or ["."], flags)


def below(descriptor: int, relative: str) -> int:
    """A directory below an open one, likewise; `relative` may be empty. The caller closes both."""
    return _descend(os.dup(descriptor), _parts(relative) or ["."], _LIST)


def holds(path: str, name: str) -> bool:
    """Whether anything of this name lies in a directory, a link perhaps. Raises as `walk` does."""
    with opened(path) as descriptor:
        try:
            os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
    return True


def mode(descriptor: int, relative: str) -> int:
    """`st_mode` of what lies below an open directory, a link perhaps; none is followed on the way there. Raises Linked, OSError."""
    folder, _, name = relative.rpartition("/")
    parent = _descend(os.dup(descriptor), _parts(folder), _STEP)
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    finally:
        os.close(parent)


def file(descriptor: int, relative: str) -> int:
    """A regular file below an open directory, opened for reading without blocking. Raises Linked, Irregular, OSError."""
    folder, _, name = relative.rpartition("/")
    if folder:
        with opened(descriptor, folder) as inner:
            return file(inner, name)
    try:
        fd = os.open(name, _FILE, dir_fd=descriptor)
    except OSError as error:
        raise _why(error, descriptor, name) from None
    opened_mode = os.fstat(fd).st_mode
    if stat.S_ISREG(opened_mode):
        return fd
    os.close(fd)
    raise Irregular(name, opened_mode)


class Held:
    """An open directory, closed with its last reference. Unless it is `listed` itself, it need not be readable."""

    def __init__(self, path: str, *, listed: bool = True) -> None:
        self.descriptor = directory(path, _LIST if listed else _STEP)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if (descriptor := getattr(self, "descriptor", None)) is not None:
            close(descriptor)


@contextmanager
def opened(start: int | str, relative: str = "") -> Iterator[int]:
    """`directory` of a path, or `below` an open directory, closed at the end."""
    descriptor = directory(start) if isinstance(start, str) else below(start, relative)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def check_tree(path: str) -> None:
    """Looks at everything below a directory. Raises Linked or Irregular for the first thing that is neither file nor directory.

    A directory that goes away meanwhile is passed over: nothing is there any more.
    """
    with opened(path) as top:
        waiting = [""]
        while waiting:
            relative = waiting.pop()
            try:
                with opened(top, relative) as descriptor:
                    waiting += list(_directories(descriptor, relative))
            except FileNotFoundError:
                continue


def _directories(descriptor: int, relative: str) -> Iterator[str]:
    prefix = f"{relative}/" if relative else ""
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield prefix + entry.name
            elif not entry.is_file(follow_symlinks=False):
                raise _neither(prefix + entry.name, entry)


def _neither(name: str, entry: os.DirEntry[str]) -> PlaceError:
    if entry.is_symlink():
        return Linked(name)
    try:
        return Irregular(name, entry.stat(follow_symlinks=False).st_mode)
    except OSError:  # gone again: it was there, and the rest of the directory isn't passed over for it
        return Irregular(name, 0)


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise PlaceError(errno.EINVAL, "a path with “..” is not taken")
    return parts


def _descend(descriptor: int, parts: Sequence[str], last: int, seen: list[Identity] | None = None) -> int:
    """Steps down from an open directory, which it closes; the last one is opened with the flags `last`."""
    if seen is not None:
        seen.append(_identity(descriptor))
    for number, part in enumerate(parts, 1):
        try:
            inner = os.open(part, last if number == len(parts) else _STEP, dir_fd=descriptor)
        except (OSError, ValueError) as error:
            raise _why(error, descriptor, part) from None
        finally:
            os.close(descriptor)
        descriptor = inner
        if seen is not None:
            seen.append(_identity(descriptor))
    return descriptor


def _identity(descriptor: int) -> Identity:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _why(error: OSError | ValueError, descriptor: int, name: str) -> OSError:
    """What really is in the way: opening a link as a directory says only that it is none."""
    if isinstance(error, ValueError):  # a NUL in the name
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(descriptor, name):
        return Linked(name)
    return Irregular(name, stat.S_IFSOCK) if error.errno == errno.ENXIO else error  # how a socket is told


def _is_link(descriptor: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode)
    except OSError:
        return False
