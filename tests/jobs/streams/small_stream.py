"""An engine that runs rounds without Spark: it writes the commits that Delta's sink would, into tables counted by hand."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from jobs.commands.stream_round.rules import Definition, StreamRound
from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.domain.results import Result
from jobs.models import Decision, Job, Stream
from jobs.streams import booking, rounds
from jobs.worker.claims import claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.jobs import small_delta
from tests.jobs.small_delta import Row, SmallEngine


class SmallStream(SmallEngine):
    """`batches` are the rows of each micro-batch of the next round; `fails` is Delta's condition of its failure."""

    def __init__(self, *batches: list[Row], fails: str = "") -> None:
        super().__init__()
        self.batches, self.fails = list(batches), fails
        self.query_id = str(uuid.uuid4())
        self.ran: list[StreamRound] = []

    def run(self, command: Any, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report) -> Result:
        assert isinstance(command, StreamRound)
        self.ran.append(command)
        if command.reset:
            return Result(None, None, no_op=True, details={"text": "moved", "moved_to": "/elsewhere"})
        if self.fails:
            raise EngineFailed(EngineFailure(self.fails, "42KDG", "A schema mismatch detected when writing."))
        definition = Definition.from_json(command.definition)
        done = [self._batch(definition, number, rows, marks) for number, rows in enumerate(self.batches)]
        if not done:
            return Result(None, None, no_op=True, details={"text": "Nothing new.", "query_id": self.query_id})
        details = {"text": f"{len(done)} batches.", "query_id": self.query_id, "run_id": "r", "batches": done}
        return Result(done[-1]["version"], "STREAMING UPDATE", {}, {}, read_version=None, details=details)

    def _batch(self, definition: Definition, number: int, rows: list[Row], marks: Marks) -> dict[str, Any]:
        path = Path(definition.path)
        if not (path / "_delta_log").exists():
            small_delta.create(path, [])
        mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
        parameters = {"outputMode": "Append", "queryId": self.query_id, "epochId": str(number)}
        metrics = {"numOutputRows": str(len(rows)), "numAddedFiles": "1", "numRemovedFiles": "0", "numOutputBytes": "9"}
        version = small_delta.commit(
            path, "STREAMING UPDATE", small_delta._adds(path, rows),
            operationParameters=parameters, operationMetrics=metrics, userMetadata=mark,
        )  # fmt: skip
        return {
            "batch_id": number, "version": version, "at": "2026-11-22T10:00:00+00:00", "input_rows": len(rows), "damaged_lines": number,
            "duration_ms": {"triggerExecution": 1500, "addBatch": 900}, "input_rate": 2.0, "processed_rate": 3.0, "skipped": False,
        }  # fmt: skip


def run_round(engine: SmallStream) -> Job:
    """The next round that waits for a worker of streams, run to its end."""
    claim = claim_run(factories.holder("streams@here"), "streams")
    assert claim is not None, "no round waits"
    work(Execution(claim, engine, threading.Event(), lambda: None))
    return Job.objects.select_related("table").get(pk=claim.job.pk)


def fresh(stream: Stream) -> Any:
    """The stream as the database has it."""
    return Stream.objects.select_related("table").get(pk=stream.pk)


def book_ended() -> int:
    return sum(booking.book(pk) for pk in booking.ended())


def open_due() -> int:
    return sum(rounds.open_if_due(pk) for pk in rounds.due())


def make_due(stream: Stream) -> None:
    Stream.objects.filter(pk=stream.pk).update(next_round_at=timezone.now() - timedelta(seconds=1))


def approve(job: Any) -> None:
    anna = factories.person_with("approver")
    Decision.objects.create(job=job, person=anna, digest=job.digest, decision="approve", comment="yes")
    Job.objects.filter(pk=job.pk).update(state="queued")
