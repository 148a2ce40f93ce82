"""The actions of one commit, read from the log when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from console.errors import Problem
from tables.deltalog import Problems, StorageError, open_log
from tables.deltalog.actions import Action, AddCDCFile, AddFile, RemoveFile
from tables.history import text
from tables.locations import LocationError, resolve
from tables.models import Commit, Root, Table

FILES = (AddFile, RemoveFile, AddCDCFile)
KINDS: dict[str, type] = {"add": AddFile, "remove": RemoveFile, "cdc": AddCDCFile}


@dataclass(frozen=True, slots=True)
class FileAction:
    """One file that a commit added, removed, or wrote for the change feed. Sizes in bytes; None is unknown."""

    action: str
    path: str
    partition_values: dict[str, str | None]
    size_bytes: int | None
    num_records: int | None
    has_deletion_vector: bool


@dataclass(frozen=True, slots=True)
class Files:
    """A page of a commit's files; `next` is where the following one begins, None at the end."""

    rows: list[FileAction]
    next: int | None


def files_of(table: Table, commit: Commit, kind: str = "", start: int = 0, limit: int = 50) -> Files:
    """The commit's files from the `start`th on, in the log's order, as far as they are of `kind`.

    Raises Problem 410 `version_gone` when the commit has left the log, 404 `no_table` when the directory has gone.
    """
    found = list(islice(_files(table, commit, kind), start, start + limit + 1))
    return Files(found[:limit], start + limit if len(found) > limit else None)


def _files(table: Table, commit: Commit, kind: str) -> Iterator[FileAction]:
    for action in _actions(table, commit):
        if isinstance(action, FILES) and (not kind or isinstance(action, KINDS[kind])):
            yield _file(action)


def _actions(table: Table, commit: Commit) -> Iterator[Action]:
    gone = (
        commit.incarnation != table.incarnation or table.first_version is None or commit.version < table.first_version
    )
    if gone:
        detail = f"Version {commit.version} has left the log. Levee kept what its commit said, not its files."
        raise Problem(410, "version_gone", detail)
    try:
        resolve(table.path, Root.objects.all())
        yield from open_log(table.path).actions(commit.version, Problems())
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None


def _file(action: AddFile | RemoveFile | AddCDCFile) -> FileAction:
    if isinstance(action, AddCDCFile):
        return FileAction("cdc", _path(action.path), action.partition_values, action.size, None, False)
    name = "add" if isinstance(action, AddFile) else "remove"
    vector = action.deletion_vector is not None
    return FileAction(name, _path(action.path), action.partition_values, action.size, action.rows, vector)


def _path(path: str) -> str:
    """The path as the file system has it: the log has it URL-encoded."""
    return text(unquote(path))
