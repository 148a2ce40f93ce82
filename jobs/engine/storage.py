"""Lists directories and reads the ends of files, in the driver and in Spark's Python workers.

It reads canonical local paths through the operating system, `scheme://` URIs through pyarrow's file systems.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any

from tables.deltalog.read.places import Held, mode
from tables.deltalog.read.places import file as opened_file
from tables.deltalog.read.places import opened as opened_directory

FILE, DIRECTORY, LINK, OTHER = "file", "directory", "link", "other"


class Local:
    """Local files, below a directory that is opened once and held, so that swapping its path can't redirect later reads.

    It reports links and never follows them, and opens only regular files.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._held: Held | None = None

    def _top(self) -> int:
        self._held = self._held or Held(self.root, listed=False)
        return self._held.descriptor

    def place(self, relative: str) -> str:
        """The full path of `relative` below the root."""
        return f"{self.root}/{relative}" if relative else self.root

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


class Remote:
    """Object stores and HDFS by URI, through pyarrow."""

    def __init__(self, root: str) -> None:
        from pyarrow import fs

        self.root = root.rstrip("/")
        self.files, self.base = fs.FileSystem.from_uri(self.root)

    def place(self, relative: str) -> str:
        return f"{self.root}/{relative}" if relative else self.root

    def entries(self, relative: str) -> Iterator[tuple[str, str, Any]]:
        from pyarrow import fs

        base = f"{self.base}/{relative}" if relative else self.base
        kinds = {fs.FileType.File: FILE, fs.FileType.Directory: DIRECTORY}
        for info in self.files.get_file_info(fs.FileSelector(base)):
            yield info.base_name, kinds.get(info.type, OTHER), info

    def stat(self, handle: Any) -> tuple[int, int]:
        return handle.size, handle.mtime_ns or 0

    def tail(self, relative: str, length: int) -> bytes:
        with self.files.open_input_file(f"{self.base}/{relative}") as file:
            size = file.size()
            file.seek(max(0, size - length))
            return bytes(file.read())

    def lines(self, relative: str) -> Iterator[bytes]:
        with self.files.open_input_stream(f"{self.base}/{relative}") as file:
            yield from io.BufferedReader(file)

    def missing(self, places: Iterable[str]) -> list[str]:
        from pyarrow import fs

        wanted = list(places)
        infos = self.files.get_file_info([self.base + place.removeprefix(self.root) for place in wanted])
        return [place for place, info in zip(wanted, infos, strict=True) if info.type != fs.FileType.File]


Storage = Local | Remote


def opened(path: str) -> Storage:
    """The storage whose root is `path`."""
    return Remote(path) if "://" in path else Local(path)
