"""What people do to run streams: start, run once, reset, stop. Each checks, acts and audits in one transaction."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from jobs.commands.stream_round.rules import Definition, TableSource
from jobs.domain.digest import sha256_of
from jobs.lifecycle.cancelling import require_person
from jobs.models import Job, Stream
from jobs.requests.asking import IdempotencyKey, check_reason
from jobs.streams import rounds
from jobs.streams.access import locked_row, require_operator
from jobs.streams.booking import booked
from jobs.streams.definition import WantedStream, with_own_checkpoint
from jobs.streams.faults import CHECKPOINT_OLDER, refuse_predicted
from jobs.streams.keys import starts as start_keys


def start(actor: Actor, stream: Stream, key: IdempotencyKey | None = None) -> Job:
    """Starts the stream: its rounds are opened from now on; the first one at once. A stream without an interval runs one round.

    Returns the round. Raises Problem 403, 409 `wrong_state`, 422 `schema_refused` as it would be at creation.
    """
    require_operator(actor, stream, Action.STREAM_START)
    stream, person = booked(stream), require_person(actor)
    wanted = _check_start(actor, stream)
    with transaction.atomic():
        locked = locked_row(stream)
        if locked.state == Stream.State.RUNNING:
            raise Problem(409, "wrong_state", "The stream is already running. Nothing changed.", state=locked.state)
        record(
            actor, Action.STREAM_START, ObjectKind.STREAM, locked.pk, locked.name,
            after={"revision": locked.revision, "interval_seconds": locked.interval_seconds}, table=locked.table_id,
        )  # fmt: skip
        Stream.objects.filter(pk=locked.pk).update(
            state=Stream.State.RUNNING, state_at=Now(), state_text="", error=None, run_by=person, next_round_at=Now()
        )
        locked.refresh_from_db()
        waiting = rounds.open_round(locked)
        if waiting is not None and waiting.reset:
            text = "The reset of this stream is open: it ends or is withdrawn first. Nothing changed."
            raise Problem(409, "already_open", text, job=str(waiting.job_id))
        if waiting is not None:
            if key is not None:
                start_keys.keep(person, key, waiting)
            return waiting.job
        _store_fresh(locked, wanted)
        return rounds.open_next(actor, locked, key=key)


def run_once(actor: Actor, stream: Stream, key: IdempotencyKey | None = None) -> Job:
    """Opens one round, whatever the trigger. Raises Problem 403, 409 `already_open`, 422 `schema_refused`."""
    require_operator(actor, stream, Action.STREAM_START)
    stream = booked(stream)
    return _open(actor, stream, _check_start(actor, stream), reason="", key=key)


def reset(actor: Actor, stream: Stream, reason: str, key: IdempotencyKey | None = None) -> Job:
    """Asks for the removal of the checkpoint, which needs an approval: the next round loads everything again.

    Raises Problem 400, 403, 409 `wrong_state`, `already_open`.
    """
    require_operator(actor, stream, Action.STREAM_CHANGE)
    check_reason(reason)
    stream = booked(stream)
    if stream.state in {Stream.State.RUNNING, Stream.State.STOPPING}:
        raise Problem(409, "wrong_state", "Stop the stream first. Nothing changed.", state=stream.state)
    return _open(actor, stream, None, reason=reason, key=key)


def _open(actor: Actor, stream: Stream, wanted: WantedStream | None, *, reason: str, key: IdempotencyKey | None) -> Job:
    """A round with the definition as it was found just now; without one, a reset."""
    with transaction.atomic():
        locked = locked_row(stream)
        opened = rounds.open_round(locked)
        if opened is not None:
            text = "A round of this stream is open already; nothing was requested. Follow that one."
            raise Problem(409, "already_open", text, job=str(opened.job_id))
        if locked.run_by_id is None or locked.state not in {Stream.State.RUNNING, Stream.State.STOPPING}:
            locked.run_by = require_person(actor)
            locked.save(update_fields=["run_by"])
        if wanted is not None:
            _store_fresh(locked, wanted)
        return rounds.open_next(actor, locked, reset=wanted is None, reason=reason, key=key)


def _store_fresh(locked: Stream, wanted: WantedStream) -> None:
    """Stores what the first batch would do now; before a first round, also the source as it is now (a table made anew has another id)."""
    locked.prediction = wanted.prediction.as_json()
    definition = wanted.definition.as_json()
    if locked.query_id is None and sha256_of(definition) != locked.definition_sha256:
        locked.definition, locked.definition_sha256 = definition, sha256_of(definition)
        locked.source_table = wanted.source_table
        locked.revision += 1
    locked.save(update_fields=["prediction", "definition", "definition_sha256", "source_table", "revision"])


def stop(actor: Actor, stream: Stream) -> Stream:
    """Stops the stream after the round that runs; one that waits for a worker or for approvals is ended at once.

    Raises Problem 403, 409 `wrong_state`.
    """
    require_operator(actor, stream, Action.STREAM_STOP)
    return halt(actor, stream)


def halt(actor: Actor, stream: Stream) -> Stream:
    """As `stop`, for an act on the stream's root, whose own permission was checked. Raises Problem 409 `wrong_state`."""
    with transaction.atomic():
        locked = locked_row(stream)
        if locked.state != Stream.State.RUNNING:
            raise Problem(
                409, "wrong_state", f"The stream is {locked.state}: there is nothing to stop.", state=locked.state
            )
        record(actor, Action.STREAM_STOP, ObjectKind.STREAM, locked.pk, locked.name, table=locked.table_id)
        rounds.end_waiting(actor, locked, "The stream was stopped.")
        runs = rounds.is_running(locked)
        state = Stream.State.STOPPING if runs else Stream.State.STOPPED
        text = f"Stopped by {actor.name}."
        Stream.objects.filter(pk=locked.pk).update(state=state, state_at=Now(), state_text=text, next_round_at=None)
        locked.refresh_from_db()
    return locked


def _check_start(actor: Actor, stream: Stream) -> WantedStream:
    """What creation checked, checked again: schema and places may have changed since. Raises Problem."""
    if (error := stream.error or {}).get("code") == CHECKPOINT_OLDER:
        raise Problem(409, CHECKPOINT_OLDER, str(error["message"]))
    wanted = with_own_checkpoint(actor, stream, stream.asked)
    stored = Definition.from_json(stream.definition)
    if _table_id_of(wanted.definition) != _table_id_of(stored) and stream.query_id is not None:
        text = (
            "The source isn’t the one that the checkpoint has read from: the source table was recreated at this path."
            " Reset the checkpoint to read it from its start."
        )
        raise Problem(409, "source_recreated", text)
    if stream.target_table_id and wanted.target_table_id != stream.target_table_id:
        text = "The target isn’t the table that this stream wrote into: it was replaced or is gone. Reset the checkpoint to begin anew."
        raise Problem(409, "target_changed", text)
    refuse_predicted(wanted.prediction)
    return wanted


def _table_id_of(definition: Definition) -> str | None:
    return definition.source.table_id if isinstance(definition.source, TableSource) else None
