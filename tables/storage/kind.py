"""What tells one kind of storage from another: a row, which each adapter fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tables.storage.description import Described
from tables.storage.folders import Folders
from tables.storage.probe import Probe
from tables.storage.store import Storage
from tables.storage.trees import Reach, Tree


def _any(_text: str) -> None:
    """Nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class StoreKind:
    """One kind of storage. Its functions take a canonical path that lies in it."""

    scheme: str  # of canonical paths; empty for the file systems of this machine
    what: str  # its places, as a list of all that Levee reads has them
    one: str  # one of them, as a field that takes any has it
    example: str
    where: str  # on or in which things lie there: "on HDFS"
    files: Callable[[str], Storage]  # a table's directory; raises StorageError
    folders: Callable[[str], Folders]  # the directories at and below a path, for walks
    tree: Callable[[str], Tree]  # the same for inspections in the driver; raises Unreachable
    reach: Callable[[str], Reach]  # how tasks reach it; raises Unreachable
    is_there: Callable[[str], bool]  # whether a directory is there; raises StorageError
    is_away: Callable[[str], bool]  # whether it refused everything a moment ago
    # A place as a root. How it is reached is asked for where that is described.
    probe: Callable[[str, Callable[[], Any]], Probe]
    aliases: frozenset[str] = frozenset()  # schemes that others write for the same
    described: Described | None = None  # how its roots say how it is reached, where they do
    hadoop: Mapping[str, str] = field(default_factory=dict)  # told to Hadoop once, before its first file system there
    user: Callable[[], str] | None = None  # whom Levee is there, where that isn't a key
    copies: bool = True  # Levee copies files there
    # Removes those below a prefix of which the function says so, by folder and name; where there are keys alone.
    remove_keys: Callable[[str, Callable[[str, str], bool]], None] | None = None
    takes_names_once: bool = False  # of two who make one name, it tells one that it lost
    guards_commits: bool = True  # Delta's usual log store overwrites no commit of another writer there
    has_directories: bool = True  # object stores know keys alone
    reserved: tuple[str, ...] = ()  # names that lead to directories which have a path already
    authority: Callable[[str], str] = str  # its canonical spelling; raises BadPlace
    require_root: Callable[[str], None] = _any  # of `scheme://authority`, as a root may have it; raises BadPlace

    @property
    def prefix(self) -> str:
        """What canonical paths begin with."""
        return f"{self.scheme}://" if self.scheme else "/"

    @property
    def is_remote(self) -> bool:
        """Whether it lies elsewhere than on this machine's file systems."""
        return bool(self.scheme)
