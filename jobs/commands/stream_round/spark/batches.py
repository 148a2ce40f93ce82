"""What the micro-batches of a round did: each one's progress, joined with the commit that Delta made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.base.text.counted import counted
from jobs.commands.stream_round.spark.checks import Ground
from jobs.commands.stream_round.spark.damaged_lines import damaged_of
from jobs.engine.commits.history import HistoryCommit, commits_after, commits_before

Progress = Mapping[str, Any]  # Spark's StreamingQueryProgress, read from its JSON
STREAMING = "STREAMING UPDATE"


@dataclass(frozen=True, slots=True)
class Batches:
    """The batches of a round, as values for its result; `last` is the newest commit that it made."""

    described: list[dict[str, Any]]
    commits: int
    last: HistoryCommit | None

    def text(self) -> str:
        """3 batches: 3,000 rows in, 3 commits. 12 damaged lines were left out."""
        rows = sum(batch["input_rows"] for batch in self.described)
        skipped = sum(batch["skipped"] for batch in self.described)
        made = counted(self.commits, "commit") if self.commits else "no commit"
        text = f"{counted(len(self.described), 'batch', 'batches')}: {counted(rows, 'row')} in, {made}."
        damaged = sum(batch["damaged_lines"] or 0 for batch in self.described)
        if damaged:
            text += f" {counted(damaged, 'damaged line was', 'damaged lines were')} left out."
        if skipped:
            text += f" Delta skipped {counted(skipped, 'batch', 'batches')} that the table holds already."
        return text


def stage_of(event: Progress) -> str | None:
    """batch 12: 1,000 rows, 3.2 s; None for an event of no batch."""
    if not _ran(event):
        return None
    seconds = event["durationMs"].get("triggerExecution", event["batchDuration"]) / 1000
    return f"batch {event['batchId']}: {counted(event['numInputRows'], 'row')}, {seconds:.1f} s"


def batches_of(ground: Ground, query_id: str, progress: Sequence[Progress]) -> Batches:
    """The batches that ran, with what the table's log says of each."""
    own = {
        epoch: commit
        for commit in commits_after(ground.path, ground.head)
        if (epoch := _epoch(commit, query_id)) is not None
    }
    events = [event for event in progress if _ran(event)]
    skipped = _earlier(ground, query_id, [event["batchId"] for event in events if event["batchId"] not in own])
    last = max(own.values(), key=lambda commit: commit.version, default=None)
    described = [_described(event, own.get(event["batchId"]), skipped) for event in events]
    return Batches(described, len(own), last)


def _ran(event: Progress) -> bool:
    """Whether a batch ran: Spark also reports that there was nothing to do."""
    return "addBatch" in event["durationMs"]


def _epoch(commit: HistoryCommit, query_id: str) -> int | None:
    """The number of the query's batch that the commit is of."""
    given = commit.operationParameters
    if commit.operation != STREAMING or given.get("queryId") != query_id:
        return None
    epoch = given.get("epochId", "")
    return int(epoch) if epoch.isdigit() else None


def _earlier(ground: Ground, query_id: str, batches: Iterable[int]) -> dict[int, HistoryCommit | None]:
    """Those of the batches that the table held when the round began, with their commits as far as the log still has them."""
    wanted = set(batches)
    newest = ground.newest_batch(query_id) if wanted else None
    found: dict[int, HistoryCommit | None] = {batch: None for batch in wanted if newest is not None and batch <= newest}
    missing = set(found)
    for commit in commits_before(ground.path, ground.head) if missing else ():
        epoch = _epoch(commit, query_id)
        if epoch in missing:
            found[epoch] = commit
            missing.remove(epoch)
        if not missing:
            break
    return found


def _described(
    event: Progress, own: HistoryCommit | None, skipped: Mapping[int, HistoryCommit | None]
) -> dict[str, Any]:
    batch = event["batchId"]
    commit = own or skipped.get(batch)
    metrics = commit.operationMetrics if commit else {}
    return {
        "batch_id": batch,
        "version": commit.version if commit else None,
        "at": event["timestamp"],
        "input_rows": event["numInputRows"],
        "damaged_lines": damaged_of(event),
        "rows_out": _number(metrics, "numOutputRows"),
        "files_added": _number(metrics, "numAddedFiles"),
        "files_removed": _number(metrics, "numRemovedFiles"),
        "bytes_added": _number(metrics, "numOutputBytes"),
        "duration_ms": event["durationMs"],
        "input_rate": event["inputRowsPerSecond"],
        "processed_rate": event["processedRowsPerSecond"],
        "skipped": own is None and batch in skipped,
        "output_mode": commit.operationParameters.get("outputMode") if commit else None,
    }


def _number(metrics: Mapping[str, str], name: str) -> int | None:
    text = metrics.get(name, "")
    return int(text) if text.isdigit() else None
