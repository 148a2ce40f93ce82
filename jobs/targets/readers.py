"""The streams that read a table: which of them a change of its rows makes fail.

Source: delta-spark, `DeltaSource.validateCommitAndDecideSkipping`: a commit that removes data files fails a streaming read
(`DELTA_SOURCE_TABLE_IGNORE_CHANGES`, `DELTA_SOURCE_IGNORE_DELETE`) unless it reads with `skipChangeCommits`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from jobs.domain.consequences import Consequence, said
from jobs.models import Stream

MOST = 20


def with_readers(preview: Mapping[str, Any], table_id: uuid.UUID) -> dict[str, Any]:
    """A preview with the consequences for the streams that read the table, as part of what people approve. One query."""
    return {**preview, "consequences": [*preview["consequences"], *broken_readers(table_id)]}


def broken_readers(table_id: uuid.UUID) -> list[Consequence]:
    """The streams of Levee that a commit which removes rows makes fail; at most MOST by name, the rest as a number."""
    readers = Stream.objects.filter(source_table_id=table_id, removed_at=None).order_by("name")
    failing = [stream for stream in readers.select_related("table") if _fails(stream)]
    consequences = [said("fails_stream", _sentence(stream)) for stream in failing[:MOST]]
    if len(failing) > MOST:
        consequences.append(
            said("fails_stream", f"{len(failing) - MOST:,} more streams that read this table fail as well.")
        )
    return consequences


def _fails(stream: Stream) -> bool:
    """A query that has begun meets the commit; one that hasn't reads the table as it is by then, or from a version before it."""
    source = stream.definition["source"]
    if source.get("skip_change_commits"):
        return False
    starts_later = source.get("starting_version") is None and not source.get("starting_timestamp")
    return stream.query_id is not None or not starts_later


def _sentence(stream: Stream) -> str:
    return (
        f"The stream {stream.name} into {stream.table.name} reads this table without skipChangeCommits:"
        " its next round fails on a commit that removes rows, and stays there until you change the stream or reset its checkpoint."
    )
