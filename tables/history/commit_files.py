"""The actions of one commit, read from the log on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from console.base.errors import Problem
from tables.deltalog.read.actions import Action, AddCDCFile, AddFile, RemoveFile
from tables.deltalog.read.problems import LogProblem as LogProblem
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.replay.log import open_log
from tables.models import Commit, Root, Table
from tables.record.commit_rows import text
from tables.rules.locations import LocationError, resolve
from tables.storage.store import StorageError

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
class CommitFilesPage:
    """A page of a commit's files.

    `next` and `previous` are where the pages beside it begin, None where there is none. `problems` says what of the commit could not
    be read on the way to the page's end.
    """

    rows: list[FileAction]
    next: int | None
    previous: int | None
    problems: tuple[LogProblem, ...]


def files_of(
    table: Table,
    commit: Commit,
    kind: str = "",
    start: int = 0,
    limit: int = 50,
    partition: tuple[str, str] | None = None,
) -> CommitFilesPage:
    """The commit's files from the `start`th on, in the log's order, as far as they are of `kind`.

    `partition` is a column's physical name and a part of its value, in any case; `null` finds files whose value is null.

    Raises Problem 410 `version_gone` when the commit has left the log, 404 `no_table` when the directory has gone.
    """
    problems = Problems(limit=20)
    files = _files(table, commit, kind, problems)
    wanted = (file for file in files if partition is None or _lies_in(file, *partition))
    rows = list(islice(wanted, start, start + limit + 1))
    following = start + limit if len(rows) > limit else None
    return CommitFilesPage(rows[:limit], following, max(0, start - limit) if start else None, problems.found())


def _files(table: Table, commit: Commit, kind: str, problems: Problems) -> Iterator[FileAction]:
    for action in _actions(table, commit, problems):
        if isinstance(action, FILES) and (not kind or isinstance(action, KINDS[kind])):
            yield _file(action)


def _lies_in(file: FileAction, column: str, part: str) -> bool:
    value = file.partition_values.get(column)
    return part.lower() in ("null" if value is None else value).lower()


def _actions(table: Table, commit: Commit, problems: Problems) -> Iterator[Action]:
    if commit.incarnation != table.incarnation or table.first_version is None or commit.version < table.first_version:
        raise _gone(commit)
    try:
        resolve(table.path, Root.objects.all())
        yield from open_log(table.path).actions(commit.version, problems)
    except LocationError as error:
        raise Problem(error.status, "no_table" if error.status == 404 else error.code, str(error)) from None
    except StorageError as error:
        raise Problem(422, "unreadable", f"The log can't be read: {error}") from None
    if any(problem.code is ProblemCode.MISSING for problem in problems.found()):  # since the last sync
        raise _gone(commit)


def _gone(commit: Commit) -> Problem:
    detail = f"Version {commit.version} is no longer in the log. Levee kept the commit’s entry, not its list of files."
    return Problem(410, "version_gone", detail)


def _file(action: AddFile | RemoveFile | AddCDCFile) -> FileAction:
    if isinstance(action, AddCDCFile):
        return FileAction("cdc", _path(action.path), action.partition_values, action.size, None, False)
    name = "add" if isinstance(action, AddFile) else "remove"
    vector = action.deletion_vector is not None
    return FileAction(name, _path(action.path), action.partition_values, action.size, action.rows, vector)


def _path(path: str) -> str:
    """The path as the file system has it: the log has it URL-encoded."""
    return text(unquote(path))
