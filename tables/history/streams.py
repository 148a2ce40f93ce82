"""The streams that write into a table, as its history tells: each query's commits name its id, batch and output mode.

Source: delta-spark, `DeltaOperations.StreamingUpdate` (parameters `outputMode`, `queryId`, `epochId`); the same id is the `appId` of the
transaction in the log, by which Delta skips a batch that was written already.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tables.history.queries import STREAMING, commits_of
from tables.models import Commit, Table

LOOKED_AT = 200  # of a table's newest streaming commits: many queries take turns, and one list is enough of them
LISTED = 5


@dataclass(frozen=True, slots=True)
class LogStream:
    """One query. `batch` is its newest one's id, None where the commit doesn't tell; `version` and `at` are of that batch's commit."""

    query_id: str
    output_mode: str
    batch: int | None
    version: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class LogStreams:
    """The queries that wrote last, newest first, and how many more there are among the commits that were looked at."""

    listed: tuple[LogStream, ...]
    more: int


def streams_into(table: Table) -> LogStreams:
    """The queries behind the table's newest streaming commits."""
    queries: dict[str, LogStream] = {}
    for commit in commits_of(table).filter(operation=STREAMING).order_by("-version")[:LOOKED_AT]:
        stream = _stream(commit)
        if stream is not None:
            queries.setdefault(stream.query_id, stream)
    listed = tuple(queries.values())
    return LogStreams(listed[:LISTED], max(len(listed) - LISTED, 0))


def _stream(commit: Commit) -> LogStream | None:
    """None for a commit that names no query, as another writer's may."""
    told = commit.operation_parameters
    query, batch = _text(told.get("queryId")), _text(told.get("epochId"))
    if not query:
        return None
    return LogStream(
        query_id=query,
        output_mode=_text(told.get("outputMode")),
        batch=int(batch) if batch.isascii() and batch.isdigit() and len(batch) < 19 else None,
        version=commit.version,
        at=commit.committed_at,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
