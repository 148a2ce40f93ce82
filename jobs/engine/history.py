"""What a table's own history says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row, SparkSession

from jobs.engine import storage
from jobs.engine.quoting import path_table
from jobs.engine.walk import DELTA_LOG

FIRST = f"{DELTA_LOG}/{0:020}.json"
# An action is one line with one key; a commit's own description comes among the first.
INFO, ADD = b'{"commitInfo":', b'{"add":'


@dataclass(slots=True)
class FirstCommit:
    """Version 0 as its own file tells it, named as the columns of DESCRIBE HISTORY; `num_added` counts the files it adds."""

    version: int = 0
    operation: str | None = None
    operationParameters: Mapping[str, str] = field(default_factory=dict)
    operationMetrics: Mapping[str, str] = field(default_factory=dict)
    readVersion: int | None = None
    userMetadata: str | None = None
    num_added: int = 0


def first_commit(path: str) -> FirstCommit:
    """Version 0 of the table at `path`, read line by line.

    A convert's commit is always version 0. DESCRIBE HISTORY and a snapshot would tell the same for two Spark jobs over all of
    its files, which is a tenth of the convert. Raises FileNotFoundError when there is no such version.
    """
    commit = FirstCommit()
    for line in storage.opened(path).lines(FIRST):
        if line.startswith(ADD):
            commit.num_added += 1
        elif line.startswith(INFO):
            _describe(commit, json.loads(line)["commitInfo"])
    return commit


def latest(session: SparkSession, path: str) -> Row:
    """The newest row of DESCRIBE HISTORY. Raises what Delta raises when there is no table."""
    return session.sql(f"DESCRIBE HISTORY {path_table('delta', path)} LIMIT 1").collect()[0]


def _describe(commit: FirstCommit, info: Mapping[str, Any]) -> None:
    commit.operation = info.get("operation")
    commit.operationParameters = _texts(info.get("operationParameters"))
    commit.operationMetrics = _texts(info.get("operationMetrics"))
    commit.readVersion = info.get("readVersion")
    commit.userMetadata = info.get("userMetadata")


def _texts(values: Mapping[str, Any] | None) -> dict[str, str]:
    """Parameters as DESCRIBE HISTORY gives them: texts as they are, everything else as JSON."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in (values or {}).items()}
