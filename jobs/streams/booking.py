"""Books rounds that have ended: their micro-batches, and what their ends mean for their streams."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.audit.actions import Action, EventOutcome, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.logs import log
from jobs.domain.policy import TableClass
from jobs.domain.states import ENDED, State
from jobs.models import Job, Stream, StreamBatch, StreamRound
from jobs.streams import failures, lag
from jobs.streams.batches import batches_of, detail_of
from jobs.streams.looks import NoAnswer, NoPlace
from jobs.streams.prediction.values import StreamPrediction
from jobs.streams.rounds import MOST, WHO, interval_of, measure_again
from tables.models import Commit, SyncTimes
from tables.sync import log_access

OUTDATED = "The last round has read since Levee looked at the source. Levee looks again before the next one."
CATALOG_PATIENCE = timedelta(minutes=15)  # for the commits of a round that the catalog hasn't read yet


def ended() -> list[int]:
    """The rounds whose jobs have ended and that aren't booked, oldest first; MOST at most."""
    rows = StreamRound.objects.filter(booked_at=None, job__state__in=ENDED)
    return list(rows.order_by("id").values_list("pk", flat=True)[:MOST])


def look_ahead(ids: Iterable[int]) -> None:
    """Begins to read the checkpoints of these rounds, all at once, as `book` then does one by one; of failed ones the tables too."""
    ids = list(ids)
    lag.begin_positions(Stream.objects.filter(round_set__in=ids))
    measured = Stream.objects.filter(round_set__in=ids, round_set__job__state=State.SUCCEEDED, lag__isnull=False)
    lag.begin(measured.select_related("source_table"))
    failures.begin(ids)


def booked(stream: Stream) -> Stream:
    """The stream as it is now, its round booked if the job has ended: a round that has ended never stands in the way of the next.

    For a person's act, which comes before the dispatcher's look; it waits for a dispatcher that books the same round.
    """
    done = StreamRound.objects.filter(stream=stream, booked_at=None, job__state__in=ENDED)
    pk = done.values_list("pk", flat=True).first()
    if pk is not None and not book(pk, waits=True):
        log_access.sync(stream.table_id)
        book(pk, waits=True)
    return (
        stream
        if pk is None
        else Stream.objects.select_related("table", "source_table", "run_by", "created_by").get(pk=stream.pk)
    )


def book(pk: int, *, waits: bool = False) -> bool:
    """Books a round: its batches, and what its end means for its stream. Returns whether; False while the catalog must catch up.

    A round that another process books is passed over, or with `waits` waited for.
    """
    position, prediction = _position(pk), failures.predicted(pk)  # before the lock: storage may be slow
    with transaction.atomic():
        round_ = (
            StreamRound.objects.select_for_update(of=("self",), skip_locked=not waits)
            .select_related("job", "job__table", "stream", "stream__table")
            .filter(pk=pk, booked_at=None)
            .first()
        )
        if round_ is None or _waits_for_catalog(round_.job):
            return False
        stream = Stream.objects.select_for_update(of=("self",)).select_related("table").get(pk=round_.stream_id)
        batches = list(batches_of(stream, round_.job, position.query_id))
        StreamBatch.objects.bulk_create(batches, ignore_conflicts=True)
        StreamRound.objects.filter(pk=pk).update(booked_at=Now())
        changes = _after(stream, round_, batches, position, prediction)
        Stream.objects.filter(pk=stream.pk).update(**changes)
        if changes.get("state") == Stream.State.FAILED:
            _record_failure(stream, round_.job)
            if round_.job.error:  # its page and its stream's say the same: what to do is about the stream
                Job.objects.filter(pk=round_.job_id).update(error=changes["error"])
    if not waits and changes.get("lag_text") == OUTDATED:
        measure_again(stream.pk)  # after the commit: whatever becomes of it, the round is booked
    return True


def _position(pk: int) -> lag.Position:
    """What the checkpoint of the round's stream tells; nothing while its storage doesn't answer."""
    stream = Stream.objects.filter(round_set=pk, round_set__booked_at=None).first()
    if stream is None:
        return lag.Position()
    try:
        return lag.position(stream)
    except (NoAnswer, NoPlace):
        log.warning("checkpoint_silent", stream=str(stream.pk), checkpoint=stream.checkpoint)
        return lag.Position()


def _waits_for_catalog(job: Job) -> bool:
    """Whether the catalog has yet to read the round's commits, which tell the version of each batch."""
    if job.version is None or job.finished_at is None:
        return False
    named = Commit.objects.filter(table_id=job.table_id, version=job.version, job=job.pk)
    if "query_id" in detail_of(job):  # a run that ended by itself: the worker synced after its last commit
        known = named.exists()
    else:  # found in the history: of its commits only the first is known, and a page may have synced between two
        known = SyncTimes.objects.filter(table=job.table_id, synced_at__gt=job.finished_at).exists()
    if known:
        return False
    log_access.sync_soon(job.table_id)
    return timezone.now() - job.finished_at < CATALOG_PATIENCE


def _after(
    stream: Stream,
    round_: StreamRound,
    batches: list[StreamBatch],
    position: lag.Position,
    prediction: StreamPrediction | None,
) -> dict[str, Any]:
    """What the round's end changes in its stream. `prediction` explains a failure."""
    job = round_.job
    changes = _identity(stream, round_, batches, position) | _approval(stream, round_)
    if job.state == State.SUCCEEDED:
        return _outdated_lag(stream) | changes | _next(stream, round_)
    if job.state in {State.FAILED, State.STALE}:
        error = job.error or {"code": "stale", "message": "The round’s outcome is unknown."}
        text = str(error.get("message") or "")
        return changes | failures.explained(stream, job, error, prediction) | {
            "state": Stream.State.FAILED, "state_at": Now(), "state_text": text[:1000], "next_round_at": None,
        }  # fmt: skip
    text = stream.state_text or f"Its round was {job.state}."
    return changes | {"state": Stream.State.STOPPED, "state_at": Now(), "state_text": text, "next_round_at": None}


def _outdated_lag(stream: Stream) -> dict[str, Any]:
    """What was measured before a round has been read since, by its batches: a file never waits beside the batch that has it."""
    return {} if stream.lag is None else {"lag": None, "lag_at": Now(), "lag_text": OUTDATED}


def _next(stream: Stream, round_: StreamRound) -> dict[str, Any]:
    if (
        stream.state == Stream.State.RUNNING
        and round_.job.version is not None
        and "query_id" not in detail_of(round_.job)
    ):
        return {"next_round_at": Now()}  # it was cut short after a commit: the next one goes on, or says what is wrong
    if stream.state == Stream.State.FAILED:
        text = "A round that was run once succeeded." if not round_.reset else "Its checkpoint was reset."
        return {"state": Stream.State.STOPPED, "state_at": Now(), "state_text": text, "error": None}
    if stream.state == Stream.State.STOPPING or (
        stream.state == Stream.State.RUNNING and stream.interval_seconds is None
    ):
        text = stream.state_text or "It has read all that was there."
        return {"state": Stream.State.STOPPED, "state_at": Now(), "state_text": text, "next_round_at": None}
    if stream.state != Stream.State.RUNNING:
        return {}
    return {"next_round_at": max(round_.opened_at + interval_of(stream), timezone.now())}


def _identity(
    stream: Stream, round_: StreamRound, batches: list[StreamBatch], position: lag.Position
) -> dict[str, Any]:
    """The query's id and how far it has read, and the ids of the tables that it writes into and made."""
    job = round_.job
    if round_.reset:
        if job.state != State.SUCCEEDED:
            return {}
        fresh = {"query_id": None, "target_table_id": None, "lag": None, "lag_text": "", "reads_from": None}
        return {**fresh, "approved_sha256": "", "approved_by_job": None}
    changes: dict[str, Any] = {} if position.reads_from is None else {"reads_from": position.reads_from}
    query_id = position.query_id or detail_of(job).get("query_id")
    if query_id and stream.query_id is None:
        changes["query_id"] = query_id
    table_id = stream.table.table_id
    if table_id and stream.target_table_id is None and job.version is not None:
        changes["target_table_id"] = table_id
    if table_id and any(batch.version == 0 for batch in batches):
        changes["made_table_id"] = table_id
    return changes


def _approval(stream: Stream, round_: StreamRound) -> dict[str, Any]:
    """A round that its approvers let run approves every later one of the same definition."""
    preview = round_.job.preview or {}
    if round_.reset or preview.get("class") != TableClass.WHOLE_TABLE or not round_.job.attempt:
        return {}
    return {"approved_sha256": preview["definition_sha256"], "approved_by_job": round_.job}


def _record_failure(stream: Stream, job: Job) -> None:
    error = job.error or {}
    record(
        Actor.system(WHO), Action.STREAM_FAIL, ObjectKind.STREAM, stream.pk, stream.name,
        outcome=EventOutcome.FAILED, reason=f"{error.get('code')}: {error.get('message')}", job=job.pk, table=stream.table_id,
    )  # fmt: skip
