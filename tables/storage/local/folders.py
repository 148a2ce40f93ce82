"""The directories of this machine, for walks."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator

from tables.storage.folders import FolderEntry
from tables.storage.local import directories as places


class LocalFolders:
    """Those of this machine, entered from the start down, which stays the same one though its name may not."""

    steps = 200

    def __init__(self, start: str) -> None:
        self._start = start
        self._held: places.Held | None = None

    def is_directory(self, path: str) -> bool:
        return stat.S_ISDIR(places.mode(*self._below(path)))

    def entries(self, path: str) -> Generator[FolderEntry]:
        with places.opened(*self._below(path)) as descriptor, os.scandir(descriptor) as scan:
            yield from scan

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def head(self, path: str, length: int) -> bytes:
        with os.fdopen(places.file(*self._below(path)), "rb", buffering=0) as file:
            return file.read(length)

    def _below(self, path: str) -> tuple[int, str]:
        """The descriptor of the start, and the way from there."""
        self._held = self._held or places.Held(self._start, listed=False)
        return self._held.descriptor, path.removeprefix(self._start).removeprefix("/")
