"""A table's directory on a file system of this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import BinaryIO

from tables.storage.local import directories as places
from tables.storage.local.directories import Held
from tables.storage.store import CHUNK, NO_FILE, Entry, StorageError


class LocalStorage:
    """A directory on a file system of this machine.

    It is entered from the top down and over no link, by every listing anew; what is read is below the folder that was listed last,
    whatever lies at its path by then. Only regular files are listed and opened, and nothing blocks: a pipe that takes a commit's name
    after the listing is refused.
    """

    ahead = 1

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/") or "/"
        self._folders: dict[str, Held] = {}

    def _scan(self, folder: str) -> Iterator[os.DirEntry[str]]:
        try:
            here = self._enter(folder)
            with os.scandir(here.descriptor) as scan:
                yield from scan
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise StorageError(f"{folder} can't be listed: {error.strerror}") from error

    def _enter(self, folder: str) -> Held:
        """The folder as it lies there now. Raises OSError."""
        held = self._folders[folder] = Held(f"{self.root}/{folder}")
        return held

    def names(self, folder: str, after: str = "") -> Iterator[str]:
        return (item.name for item in self._scan(folder) if item.name > after)

    def entries(self, folder: str, after: str = "") -> Iterator[Entry]:
        for item in self._scan(folder):
            if item.name > after and (entry := _stat(item)) is not None:
                yield entry

    def entry(self, path: str) -> Entry | None:
        folder, _, name = path.rpartition("/")
        return _named(_looked_into(folder, partial(self._enter, folder)), name)

    def each(self, paths: Iterable[str]) -> Iterator[Entry | None]:
        for folder, inside in groupby(paths, _folder):
            held = _looked_into(folder, partial(Held, f"{self.root}/{folder}", listed=False))
            yield from (_named(held, path.rpartition("/")[2]) for path in inside)

    def lacks(self, paths: Iterable[str]) -> Iterator[bool]:
        for folder, inside in groupby(paths, _folder):
            held = _there(folder, partial(Held, f"{self.root}/{folder}", listed=False))
            yield from (held is None or _lacks(held, path) for path in inside)

    def _descriptor(self, path: str) -> int:
        folder, _, name = path.rpartition("/")
        try:
            held = self._folders.get(folder) or self._enter(folder)
            return places.file(held.descriptor, name)
        except FileNotFoundError as error:
            raise StorageError("the file is missing", missing=True) from error
        except places.Irregular as error:
            raise StorageError("it is not a regular file") from error
        except (OSError, ValueError) as error:
            raise StorageError(f"the file can't be opened: {getattr(error, 'strerror', None) or error}") from error

    def chunks(self, path: str, size: int) -> Iterator[bytes]:
        descriptor = self._descriptor(path)
        try:
            wanted = min(size + 1, CHUNK)
            while chunk := os.read(descriptor, wanted):
                yield chunk
                if len(chunk) < wanted:
                    return
                wanted = CHUNK
        except OSError as error:
            raise StorageError(f"the file can't be read: {error.strerror}") from error
        finally:
            os.close(descriptor)

    def open(self, path: str) -> BinaryIO:
        return os.fdopen(self._descriptor(path), "rb")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _looked_into(folder: str, enter: Callable[[], Held]) -> Held | None:
    """The folder, None where there is none. Raises StorageError for a link."""
    try:
        return enter()
    except places.PlaceError as error:
        raise StorageError(f"{folder} can't be looked at: {error.strerror}") from error
    except OSError:
        return None


def _there(folder: str, enter: Callable[[], Held]) -> Held | None:
    """The folder, None where the system says that there is none. Raises StorageError for any other reason not to enter it."""
    try:
        return enter()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{folder} can't be looked at: {error.strerror}") from error


def _lacks(folder: Held, path: str) -> bool:
    try:
        status = os.stat(path.rpartition("/")[2], dir_fd=folder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise StorageError(f"{path} can't be looked at: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(status.st_mode):
        raise StorageError(NO_FILE.format(path=path))
    return False


def _named(folder: Held | None, name: str) -> Entry | None:
    if folder is None:
        return None
    try:
        return _entry(name, os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False))
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None


def _stat(item: os.DirEntry[str]) -> Entry | None:
    try:
        return _entry(item.name, item.stat(follow_symlinks=False))
    except OSError:
        return None  # deleted between listing and asking: as if it had not been listed


def _entry(name: str, status: os.stat_result) -> Entry | None:
    if not stat.S_ISREG(status.st_mode):
        return None
    return Entry(name, status.st_size, status.st_mtime_ns // 1_000_000)
