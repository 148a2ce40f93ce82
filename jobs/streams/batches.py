"""A round's micro-batches: as Spark reported them to its job, and as the table's commits tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from jobs.models import Job, Stream, StreamBatch
from tables.history.queries import STREAMING
from tables.models import Commit

MOST = 10_000  # of one round


def detail_of(job: Job) -> Mapping[str, Any]:
    """What the run told beside its commit."""
    return (job.result or {}).get("details") or {}


def batches_of(stream: Stream, job: Job, query_id: str | None) -> Iterator[StreamBatch]:
    """The round's micro-batches: as Spark reported them, and those that only the log knows since the worker died.

    `query_id` is the checkpoint's, None if it isn't known.
    """
    detail = detail_of(job)
    known = {batch["batch_id"]: batch for batch in detail.get("batches") or ()}
    query = detail.get("query_id") or stream.query_id or query_id
    own = [commit for commit in _commits(job) if query is None or commit.operation_parameters.get("queryId") == query]
    commits = {int(epoch): commit for commit in own if (epoch := _epoch(commit)) is not None}
    for batch_id in sorted({*known, *commits}):
        yield _batch(stream, job, batch_id, known.get(batch_id) or {}, commits.get(batch_id))


def _commits(job: Job) -> list[Commit]:
    return list(
        Commit.objects.filter(table_id=job.table_id, job=job.pk, operation=STREAMING).order_by("version")[:MOST]
    )


def _epoch(commit: Commit) -> str | None:
    epoch = (commit.operation_parameters or {}).get("epochId")
    return epoch if _is_number(epoch) else None


def _batch(stream: Stream, job: Job, batch_id: int, told: Mapping[str, Any], commit: Commit | None) -> StreamBatch:
    metrics = (commit.operation_metrics or {}) if commit else {}
    parameters = (commit.operation_parameters or {}) if commit else {}
    at = parse_datetime(told["at"]) if told.get("at") else commit.committed_at if commit else None
    durations = told.get("duration_ms") or {}
    return StreamBatch(
        stream=stream,
        job=job,
        query_id=str(parameters.get("queryId") or detail_of(job).get("query_id") or stream.query_id or "")[:64],
        run_id=str(detail_of(job).get("run_id") or ""),
        batch_id=batch_id,
        version=commit.version if commit else told.get("version"),
        output_mode=stream.definition["output_mode"],
        at=at or job.finished_at or timezone.now(),
        skipped=bool(told.get("skipped")),
        input_rows=told.get("input_rows"),
        damaged_lines=told.get("damaged_lines"),
        rows_out=_number(metrics.get("numOutputRows"), told.get("rows_out")),
        files_added=_number(metrics.get("numAddedFiles"), told.get("files_added")),
        files_removed=_number(metrics.get("numRemovedFiles"), told.get("files_removed")),
        bytes_added=_number(metrics.get("numOutputBytes"), told.get("bytes_added")),
        took_ms=durations.get("triggerExecution"),
        durations=durations,
        input_rate=told.get("input_rate"),
        processed_rate=told.get("processed_rate"),
    )


def _is_number(text: Any) -> bool:
    """Whether the log's text is a number that the database holds: any writer can put anything there."""
    return isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19


def _number(text: Any, otherwise: Any) -> int | None:
    if _is_number(text):
        return int(text)
    return otherwise if isinstance(otherwise, int) else None
