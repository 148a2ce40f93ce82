"""Builds the streaming query of a definition, call by call, starts it, and follows it to its end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from jobs.commands.stream_round.rules import Definition, Steps, TableSource
from jobs.commands.stream_round.spark.batches import Progress
from jobs.commands.stream_round.spark.damaged_lines import file_rows
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates.stored import from_json
from jobs.domain.predicates.typenames import parse_type
from jobs.engine.named_files import table_stream
from jobs.engine.predicates import column_of
from jobs.engine.quoting import quoted

# Kept from the sink: a person's note travels in the job's marks, where it can't replace them.
NOTE = "userMetadata"
POLL_SECONDS = 0.2
RENAME = "Change the stream's steps to the columns that its source has now."


def frame_of(session: SparkSession, definition: Definition) -> DataFrame:
    """The stream's rows: its source, then its steps. Reads nothing yet. Raises CommandRefused `no_such_column`."""
    return _stepped(session, _read(session, definition), definition.steps)


def _read(session: SparkSession, definition: Definition) -> DataFrame:
    source = definition.source
    if isinstance(source, TableSource):
        return table_stream(session, source.path, _table_options(source))
    return file_rows(session, definition, source)


def _table_options(source: TableSource) -> dict[str, str]:
    options = dict(source.options)
    if source.starting_version is not None:
        options["startingVersion"] = str(source.starting_version)
    if source.starting_timestamp is not None:
        options["startingTimestamp"] = source.starting_timestamp
    if source.skip_change_commits:
        options["skipChangeCommits"] = "true"
    return options


def _stepped(session: SparkSession, frame: DataFrame, steps: Steps) -> DataFrame:
    if steps.rename:
        _refuse_absent(frame, steps.rename)
        frame = frame.withColumnsRenamed(dict(steps.rename))
    if steps.cast:
        frame = frame.withColumns({name: _column(name).cast(parse_type(kind)) for name, kind in steps.cast.items()})
    if steps.filter is not None:
        frame = frame.filter(column_of(from_json(dict(steps.filter)), session))
    if steps.select:
        frame = frame.select(*(_column(name) for name in steps.select))
    if steps.count_as is not None:
        counted = F.count(F.lit(1)).alias(steps.count_as)
        frame = frame.groupBy(*(_column(name) for name in steps.group_by)).agg(counted)
    return frame


def _refuse_absent(frame: DataFrame, renamed: Mapping[str, str]) -> None:
    """Spark passes over a rename of a column that isn't there; another step of a missing column fails by itself."""
    known = {name.lower() for name in frame.columns}
    absent = [name for name in renamed if name.lower() not in known]
    if absent:
        text = f"The source has no column {absent[0]}, which the stream renames."
        raise CommandRefused(Refusal("no_such_column", text, place=absent[0], remedy=RENAME))


def _column(name: str) -> Column:
    return F.col(quoted(name))


def started(frame: DataFrame, definition: Definition) -> StreamingQuery:
    """Starts the query for all that the source holds now."""
    writer = frame.writeStream.format("delta").outputMode(definition.output_mode).trigger(availableNow=True)
    writer = writer.options(**{name: value for name, value in definition.options.items() if name != NOTE})
    if definition.partition_by:
        writer = writer.partitionBy(*definition.partition_by)
    return writer.option("checkpointLocation", definition.checkpoint).start(definition.path)


def followed(query: StreamingQuery, seen: Callable[[Progress], None]) -> list[Progress]:
    """Waits until the query has ended, and returns its progress events, each told to `seen` as it comes.

    Raises what ended the query. Whatever happens, the query runs no longer afterwards.
    """
    events: list[str] = []
    try:
        while not query.awaitTermination(POLL_SECONDS):
            _take(query, events, seen)
        _take(query, events, seen)
    finally:
        # A query that has ended takes no stop, and a JVM that is gone can't: the first error says why.
        with suppress(PySparkException, Py4JError, ConnectionError):
            query.stop()
    return [json.loads(event) for event in events]


def _take(query: StreamingQuery, events: list[str], seen: Callable[[Progress], None]) -> None:
    for event in _fresh(query, events[-1] if events else None):
        events.append(event)
        seen(json.loads(event))


def _fresh(query: StreamingQuery, last: str | None) -> list[str]:
    """The events after `last`, oldest first. Spark gives all it keeps; only the new ones are fetched."""
    kept: Any = query._jsq.recentProgress()
    fresh: list[str] = []
    for position in range(len(kept) - 1, -1, -1):
        event = str(kept[position].json())
        if event == last:
            break
        fresh.append(event)
    return fresh[::-1]
