"""A directory of this machine as inspections read it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tables.storage.local.copies import LocalCopies
from tables.storage.local.directories import Held, mode
from tables.storage.local.directories import file as opened_file
from tables.storage.local.directories import opened as opened_directory
from tables.storage.trees import DIRECTORY, FILE, LINK, OTHER


class LocalTree:
    """Local files, below a directory that is opened once and held, so that swapping its path can't redirect later reads.

    It reports links and never follows them, and opens only regular files.
    """

    is_near = True

    def __init__(self, root: str) -> None:
        self.root = root
        self._held: Held | None = None

    def _top(self) -> int:
        self._held = self._held or Held(self.root, listed=False)
        return self._held.descriptor

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        """(name, kind, handle) of a directory. Raises FileNotFoundError, NotADirectoryError, PermissionError, Linked."""
        with opened_directory(self._top(), relative) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                yield entry.name, _kind(entry), entry

    def stat(self, handle: Any) -> tuple[int, int]:
        """(size, changed_ns) of a file's handle, while its directory is being listed."""
        info = handle.stat(follow_symlinks=False)
        return info.st_size, info.st_mtime_ns

    def tail(self, relative: str, length: int) -> bytes:
        """The last `length` bytes of a file, or all of it. Raises Linked, Irregular, OSError."""
        with os.fdopen(opened_file(self._top(), relative), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - length))
            return file.read()

    def lines(self, relative: str) -> Iterator[bytes]:
        """The lines of a text file, one at a time. Raises Linked, Irregular, OSError."""
        with os.fdopen(opened_file(self._top(), relative), "rb") as file:
            yield from file

    def missing(self, places: Iterable[str]) -> list[str]:
        """Which of these full paths are no longer files, in their order."""
        return [place for place in places if not self._is_file(place)]

    def _is_file(self, place: str) -> bool:
        top = self.root.rstrip("/") + "/"
        try:
            return place.startswith(top) and stat.S_ISREG(mode(self._top(), place.removeprefix(top)))
        except OSError:
            return False


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return LINK
    if entry.is_dir(follow_symlinks=False):
        return DIRECTORY
    return FILE if entry.is_file(follow_symlinks=False) else OTHER


@dataclass(frozen=True)
class LocalReach:
    """Every task is on a machine that has the directory, or finds none."""

    def opened(self, path: str) -> LocalTree:
        return LocalTree(path)

    def copies(self, path: str) -> LocalCopies:
        return LocalCopies(path)
