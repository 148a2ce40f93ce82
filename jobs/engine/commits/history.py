"""Reads commits from a table's own log."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Row, SparkSession

from jobs.domain.results import Result
from jobs.engine.quoting import path_table
from jobs.engine.session import USER_METADATA
from jobs.engine.walk import DELTA_LOG
from tables.storage import stores
from tables.storage.trees import FILE

COMMIT_FILE = re.compile(r"[0-9]{20}\.json")
# An action is one line with one key; `commitInfo` is among the first.
INFO, ADD = b'{"commitInfo":', b'{"add":'


@dataclass(slots=True)
class HistoryCommit:
    """One version, read from its commit file, with DESCRIBE HISTORY's column names; `num_added` counts the files it adds."""

    version: int = 0
    operation: str | None = None
    operationParameters: Mapping[str, str] = field(default_factory=dict)
    operationMetrics: Mapping[str, str] = field(default_factory=dict)
    readVersion: int | None = None
    userMetadata: str | None = None
    num_added: int = 0


def first_commit(path: str) -> HistoryCommit:
    """Version 0 of the table at `path`, read line by line.

    A convert's commit is always version 0. DESCRIBE HISTORY and a snapshot would give the same, but cost two Spark jobs over all
    of its files, a tenth of the convert's time. Raises FileNotFoundError when there is no such version.
    """
    return read_commit(path, 0)


def read_commit(path: str, version: int) -> HistoryCommit:
    """One version of the table at `path`. Raises FileNotFoundError when its file isn't there."""
    commit = HistoryCommit(version)
    for line in stores.tree_at(path).lines(f"{DELTA_LOG}/{version:020}.json"):
        if line.startswith(ADD):
            commit.num_added += 1
        elif line.startswith(INFO):
            _describe(commit, json.loads(line)["commitInfo"])
    return commit


def commit_names(path: str, first: int, last: int) -> list[str]:
    """The names of the commit files from one version to another, inclusive, that the log of the table at `path` still has."""
    names = (name for name, kind, _ in stores.tree_at(path).entries(DELTA_LOG) if kind == FILE)
    return sorted(name for name in names if COMMIT_FILE.fullmatch(name) and first <= int(name[:20]) <= last)


def commits_after(path: str, version: int) -> Iterator[HistoryCommit]:
    """The versions after one, oldest first, up to the newest. Reads nothing else of the log."""
    while True:
        version += 1
        try:
            yield read_commit(path, version)
        except FileNotFoundError:
            return


def commits_before(path: str, version: int) -> Iterator[HistoryCommit]:
    """A version and those before it, newest first, as long as their files exist."""
    for older in range(version, -1, -1):
        try:
            yield read_commit(path, older)
        except FileNotFoundError:
            return


def is_own(session: SparkSession, commit: HistoryCommit) -> bool:
    """Whether the commit carries the mark of the session's job, whichever attempt wrote it."""
    mine = json.loads(str(session.conf.get(USER_METADATA)))
    try:
        metadata = json.loads(commit.userMetadata or "null")
    except ValueError:  # another program's own metadata
        return False
    return isinstance(metadata, dict) and metadata.get("job") == mine["job"]


def recorded(commit: Row | HistoryCommit, details: Mapping[str, Any], num_affected_rows: int | None = None) -> Result:
    """A run's result from its commit."""
    read = commit.readVersion
    return Result(
        version=commit.version,
        operation=commit.operation,
        operation_parameters=dict(commit.operationParameters or {}),
        operation_metrics=dict(commit.operationMetrics or {}),
        num_affected_rows=num_affected_rows,
        read_version=read if read is not None and read >= 0 else None,
        details=details,
    )


def recorded_together(commits: Sequence[HistoryCommit], details: Mapping[str, Any]) -> Result:
    """A run's result from its commits, oldest first: the last one's, with the version that the first one read."""
    return replace(recorded(commits[-1], details), read_version=recorded(commits[0], details).read_version)


def latest(session: SparkSession, path: str) -> Row:
    """The newest row of DESCRIBE HISTORY. Raises what Delta raises when there is no table."""
    return session.sql(f"DESCRIBE HISTORY {path_table('delta', path)} LIMIT 1").collect()[0]


def _describe(commit: HistoryCommit, info: Mapping[str, Any]) -> None:
    commit.operation = info.get("operation")
    commit.operationParameters = _texts(info.get("operationParameters"))
    commit.operationMetrics = _texts(info.get("operationMetrics"))
    commit.readVersion = info.get("readVersion")
    commit.userMetadata = info.get("userMetadata")


def _texts(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Parameters as DESCRIBE HISTORY shows them: texts unchanged, everything else as JSON."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in (values or {}).items()}
