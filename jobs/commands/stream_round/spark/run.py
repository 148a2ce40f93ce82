"""A round of a stream: one structured streaming query into Delta's own sink, and what its commits and progress say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jobs.commands.stream_round.rules import Definition, StreamRound
from jobs.commands.stream_round.spark.batches import Batches, Progress, batches_of, stage_of
from jobs.commands.stream_round.spark.checks import checked_ground
from jobs.commands.stream_round.spark.query import followed, frame_of, started
from jobs.commands.stream_round.spark.reset import moved_aside
from jobs.commands.stream_round.spark.source_read import read_source
from jobs.domain.engine import Checked, Report
from jobs.domain.results import Result
from jobs.engine.commits.history import recorded
from jobs.engine.runner import Runner
from jobs.engine.session import TXN_APP_ID, TXN_VERSION, USER_METADATA

# How many progress events Spark keeps of a query; it makes one for each batch.
RETAINED = "spark.sql.streaming.numRecentProgressUpdates"
MOST_RETAINED = "10000"

NOTHING = "The source holds nothing new: no batch ran, and nothing was committed."
MOVED = "The checkpoint was moved to {path}. The next round starts a new query, which reads the source from its start."
NO_CHECKPOINT = "There is no checkpoint at {path}: nothing was moved. The next round reads the source from its start."


def run_round(
    session: SparkSession, command: StreamRound, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Runs the stream until it has read what its source holds now, or (`reset`) moves its checkpoint aside.

    Raises CommandRefused before any change; DirectorySwapped where Levee can't know which directory was read or changed. What
    fails in the query passes through, and the batches that it has committed by then stay.
    """
    definition = Definition.from_json(command.definition)
    if command.reset:
        return _reset(definition.checkpoint, report)
    report.stage("looking at the source and the table")
    ground = checked_ground(session, command, definition)
    _prepare(session, definition)
    frame = frame_of(session, definition)
    report.point("Spark started")
    # The last check before Spark reads and writes: since the first one, a path may have become a link out of the root.
    ground.check()
    with ground.changing():
        report.stage("starting the query")
        query = started(frame, definition)
        progress = followed(query, lambda event: _tell(event, report))
        report.stage("reading the commits")
        batches = batches_of(ground, str(query.id), progress)
    if batches.last is not None:
        report.point("commit visible")
    return _result(batches, _details(query, progress, batches), report)


def _prepare(session: SparkSession, definition: Definition) -> None:
    """Sets the session up for a stream, whose copy of the settings is made at its start."""
    # Delta marks a stream's commits by query and batch; these marks are for commands that commit once.
    session.conf.unset(TXN_APP_ID)
    session.conf.unset(TXN_VERSION)
    session.conf.set(RETAINED, MOST_RETAINED)
    note = definition.options.get("userMetadata")
    if note:  # as the sink's own option it would replace the job's marks
        marks = json.loads(str(session.conf.get(USER_METADATA)))
        session.conf.set(USER_METADATA, json.dumps(marks | {"note": note}))


def _tell(event: Progress, report: Report) -> None:
    text = stage_of(event)
    if text is not None:
        report.stage(text)


def _details(query: StreamingQuery, progress: list[Progress], batches: Batches) -> dict[str, Any]:
    last = progress[-1] if progress else {}
    source = (last.get("sources") or [{}])[0]
    return {
        "text": batches.text() if batches.described else NOTHING,
        "query_id": str(query.id),
        "run_id": str(query.runId),
        "sink": (last.get("sink") or {}).get("description"),
        "source": source.get("description"),
        "batches": batches.described,
        "end_offset": source.get("endOffset"),
    }


def _result(batches: Batches, details: Mapping[str, Any], report: Report) -> Result:
    if batches.last is not None:
        return recorded(batches.last, details)
    report.log(str(details["text"]))
    return Result(version=None, operation=None, no_op=True, details=details)


def _reset(checkpoint: str, report: Report) -> Result:
    report.stage("moving the checkpoint aside")
    moved_to = moved_aside(checkpoint)
    text = NO_CHECKPOINT.format(path=checkpoint) if moved_to is None else MOVED.format(path=moved_to)
    report.log(text)
    return Result(version=None, operation=None, no_op=True, details={"text": text, "moved_to": moved_to})


def _paths(command: StreamRound) -> tuple[str, ...]:
    definition = Definition.from_json(command.definition)
    return () if command.reset else (definition.source.path, definition.path)


RUNNER = Runner(run_round, reads={"stream_source": read_source}, paths=_paths)
