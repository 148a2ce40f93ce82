"""The names in directories, and the first bytes of their files, for walks: what a store tells of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

PAGE = 1_000  # names that a store tells in one answer


class StoreRefused(OSError):
    """An object store or HDFS doesn't tell what lies in a directory. `everywhere`: nor would it tell of any other."""

    def __init__(self, text: str, *, everywhere: bool) -> None:
        super().__init__(text)
        self.everywhere = everywhere


class FolderEntry(Protocol):
    """A name in a directory: what an `os.DirEntry` tells. A link is neither a directory nor a file."""

    @property
    def name(self) -> str: ...
    def is_dir(self, *, follow_symlinks: bool = True) -> bool: ...
    def is_file(self, *, follow_symlinks: bool = True) -> bool: ...
    def stat(self, *, follow_symlinks: bool = True) -> Any: ...


class Folders(Protocol):
    """Directories at and below the start. A look at the clock is due after `steps` of its answers."""

    steps: int

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there, not reached by a link. Raises FileNotFoundError, NotADirectoryError, OSError."""

    def entries(self, path: str) -> Generator[FolderEntry]:
        """What lies directly in a directory, in any order. Raises OSError."""

    def exists(self, path: str) -> bool:
        """Whether anything may be there."""

    def head(self, path: str, length: int) -> bytes:
        """The first bytes of a regular file. Raises OSError."""
