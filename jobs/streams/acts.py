"""What people do with streams: create, change, remove, start, stop, run once, reset. Each checks, acts and audits in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.http import Http404

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record, refuse
from console.base.errors import Problem
from jobs.commands.stream_round.rules import Definition, TableSource
from jobs.domain.digest import sha256_of
from jobs.domain.states import IN_REVIEW, Cause, State
from jobs.lifecycle.cancelling import require_person
from jobs.lifecycle.transitions import Fenced, move
from jobs.models import Job, Stream, StreamRound
from jobs.requests.asking import Key, check_reason
from jobs.streams import lag, rounds
from jobs.streams.definition import Wanted, remove_made, wanted_of
from jobs.streams.faults import invalid
from jobs.streams.queries import may_run
from jobs.streams.targets import entry_of

NAME_LENGTH = 100
# What a checkpoint can't follow: Spark keeps the source's and the aggregation's state in it.
FIXED = ("source", "aggregate", "output_mode", "target", "checkpoint")
FIELDS = (
    "source", "rename", "cast", "filter", "select", "aggregate", "target", "checkpoint", "output_mode", "partition_by", "options",
    "trigger",
)  # fmt: skip


def create(actor: Actor, name: str, reason: str, asked: Mapping[str, Any]) -> Stream:
    """A stream, stopped. Raises Problem: 400, 403, 404, 409 `name_taken`, 422 with what its first batch would be refused for."""
    person = require_person(actor)
    check_reason(reason)
    name = _checked_name(name)
    stream_id = uuid.uuid4()
    wanted = wanted_of(actor, asked, stream_id)
    try:
        _refuse_predicted(wanted)
        with transaction.atomic():
            table = entry_of(actor, wanted.target)
            stream = Stream(
                id=stream_id,
                name=name,
                reason=reason,
                table=table,
                created_by=person,
                edited_by=[str(person.pk)],
                **_fields(wanted, asked),
            )
            record(
                actor, Action.STREAM_CREATE, ObjectKind.STREAM, stream.pk, name,
                reason=reason, after=_shown(stream), table=table.pk,
            )  # fmt: skip
            stream.save(force_insert=True)
    except Problem:
        remove_made(wanted.made)
        raise
    except IntegrityError as error:
        remove_made(wanted.made)
        raise _taken(error, name) from None
    return stream


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise invalid("name", f"A stream needs a name of 1 to {NAME_LENGTH} printable characters.")
    return name


def _fields(wanted: Wanted, asked: Mapping[str, Any]) -> dict[str, Any]:
    definition = wanted.definition.as_json()
    return {
        "asked": {field: asked[field] for field in FIELDS if asked.get(field) not in (None, "", {}, [])},
        "definition": definition,
        "definition_sha256": sha256_of(definition),
        "checkpoint": wanted.definition.checkpoint,
        "interval_seconds": int(wanted.interval.total_seconds()) if wanted.interval else None,
        "source_table": wanted.source_table,
        "target_table_id": wanted.target_table_id,
        "prediction": wanted.prediction.as_json(),
    }


def _shown(stream: Stream) -> dict[str, Any]:
    """A definition as the audit keeps it."""
    return {**stream.asked, "definition_sha256": stream.definition_sha256, "revision": stream.revision}


def _refuse_predicted(wanted: Wanted) -> None:
    refusals = wanted.prediction.refusals
    if not refusals:
        return
    first = refusals[0]
    message = f"{first.message} {first.remedy or ''}".strip()
    is_engines = first.code.isupper()  # Delta's and Spark's conditions are; Levee's codes aren't
    engine = {"condition": first.code, "sqlstate": None, "message": first.message} if is_engines else None
    raise Problem(422, "schema_refused", f"The first batch would be refused: {message}", engine=engine)


def _taken(error: IntegrityError, name: str) -> Exception:
    if "stream_name_once" in str(error):
        text = f"A stream is called {name} already. Nothing was created."
        return Problem(409, "name_taken", text, fields={"name": text})
    if "jobs_stream_checkpoint" in str(error):
        text = "Another stream has this checkpoint. A checkpoint belongs to one query."
        return Problem(409, "foreign_checkpoint", text, fields={"checkpoint": text})
    return error


def change(actor: Actor, stream: Stream, changes: Mapping[str, Any]) -> Stream:
    """The stream with another definition, from its next round on; voids the approval that its old one had.

    Raises Problem as `create`; 409 `needs_reset` for what its checkpoint can't follow.
    """
    _require(actor, stream, Action.STREAM_CHANGE)
    asked = {**stream.asked, **{field: changes[field] for field in FIELDS if field in changes}}
    _refuse_unfollowable(stream, asked)
    wanted = _with_own_checkpoint(actor, stream, asked)
    _refuse_predicted(wanted)
    person, before = require_person(actor), _shown(stream)
    fields = _fields(wanted, asked) | {
        "checkpoint": stream.checkpoint,
        "target_table_id": stream.target_table_id or wanted.target_table_id,
    }
    if name := changes.get("name"):
        fields["name"] = _checked_name(name)
    try:
        with transaction.atomic():
            locked = _locked(stream)
            _refuse_changed(stream, locked)
            for field, value in fields.items():
                setattr(locked, field, value)
            locked.revision += 1
            locked.edited_by = sorted({*locked.edited_by, str(person.pk)})
            locked.approved_sha256, locked.approved_by_job = "", None
            if locked.run_by_id is not None:
                locked.run_by = person  # the rounds of a definition run for who wrote it
            record(
                actor, Action.STREAM_CHANGE, ObjectKind.STREAM, locked.pk, locked.name,
                reason=str(changes.get("reason") or ""), before=before, after=_shown(locked), table=locked.table_id,
            )  # fmt: skip
            locked.save()
            _end_waiting(actor, locked, "The stream’s definition has changed.")
    except IntegrityError as error:
        raise _taken(error, str(fields.get("name"))) from None
    return locked


def _refuse_changed(seen: Stream, locked: Stream) -> None:
    """Two people who change a stream at once: the second one looks again. Raises Problem 409 `wrong_state`."""
    if seen.revision != locked.revision:
        raise Problem(
            409,
            "wrong_state",
            "The stream was changed meanwhile. Nothing changed; look at it again.",
            state=locked.state,
        )


def _with_own_checkpoint(actor: Actor, stream: Stream, asked: Mapping[str, Any]) -> Wanted:
    """The definition on the checkpoint that the stream has, which isn't looked at as a new one's would be."""
    try:
        wanted = wanted_of(actor, {**asked, "checkpoint": None}, stream.pk, is_new=False)
    except Http404:
        raise Problem(
            403, "forbidden", "You may not read this stream’s source, or its target is hidden from you."
        ) from None
    if wanted.definition.path != stream.table.path:  # whose lease the rounds take, and whose rights they were judged by
        text = (
            f"The target’s name now leads to {wanted.definition.path}, and the stream writes into {stream.table.path}."
        )
        raise Problem(409, "target_changed", f"{text} Create another stream instead, or name the table as before.")
    return replace(wanted, definition=replace(wanted.definition, checkpoint=stream.checkpoint))


def _refuse_unfollowable(stream: Stream, asked: Mapping[str, Any]) -> None:
    """Spark's rules of what may change between two runs on one checkpoint: not the sources, not the aggregation, not their mode."""
    moved = [field for field in FIXED if _bound(field, asked.get(field)) != _bound(field, stream.asked.get(field))]
    if "target" in moved or "checkpoint" in moved:
        raise invalid(moved[-1], "A stream keeps its target and its checkpoint: create another one instead.")
    if moved and _has_begun(stream):
        text = (
            f"The checkpoint can’t follow a change of {', '.join(moved)}: it holds how far the query has read and what it has counted."
            " Reset the checkpoint first; nothing was changed."
        )
        raise Problem(409, "needs_reset", text, fields={moved[0]: text})


# Of a source, what the checkpoint's offsets are about; its schema and options may change between two runs.
BOUND = ("path", "format", "table", "starting_version", "starting_timestamp")


def _bound(field: str, value: Any) -> Any:
    """What a checkpoint keeps of a field of the definition."""
    if field == "source":
        return {name: (value or {}).get(name) for name in BOUND}
    return value or None


def _has_begun(stream: Stream) -> bool:
    """Whether the query has a checkpoint, or is making one."""
    return bool(stream.query_id or lag.query_id(stream.checkpoint)) or rounds.is_running(stream)


def remove(actor: Actor, stream: Stream) -> None:
    """Removes a stopped stream from the lists; its past stays on record, its checkpoint where it is.

    Raises Problem 403, 409 `wrong_state`.
    """
    _require(actor, stream, Action.STREAM_DELETE)
    with transaction.atomic():
        locked = _locked(stream)
        if locked.state in {Stream.State.RUNNING, Stream.State.STOPPING} or rounds.open_round(locked):
            raise Problem(409, "wrong_state", "Stop the stream first: a round of it is open.", state=locked.state)
        record(
            actor,
            Action.STREAM_DELETE,
            ObjectKind.STREAM,
            locked.pk,
            locked.name,
            before=_shown(locked),
            table=locked.table_id,
        )
        Stream.objects.filter(pk=locked.pk).update(removed_at=Now())


def start(actor: Actor, stream: Stream, key: Key | None = None) -> Job:
    """Starts the stream: its rounds are opened from now on; the first one at once. A stream without an interval runs one round.

    Returns the round. Raises Problem 403, 409 `wrong_state`, 422 `schema_refused` as it would be at creation.
    """
    _require(actor, stream, Action.STREAM_START)
    person = require_person(actor)
    wanted = _check_start(actor, stream)
    with transaction.atomic():
        locked = _locked(stream)
        if locked.state == Stream.State.RUNNING:
            raise Problem(409, "wrong_state", "The stream runs already. Nothing changed.", state=locked.state)
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
            return waiting.job
        _store_fresh(locked, wanted)
        return rounds.open_next(actor, locked, key=key)


def run_once(actor: Actor, stream: Stream, key: Key | None = None) -> Job:
    """Opens one round, whatever the trigger. Raises Problem 403, 409 `already_open`, 422 `schema_refused`."""
    _require(actor, stream, Action.STREAM_START)
    return _open(actor, stream, _check_start(actor, stream), reason="", key=key)


def reset(actor: Actor, stream: Stream, reason: str, key: Key | None = None) -> Job:
    """Asks for the removal of the checkpoint, which needs an approval: the next round loads everything again.

    Raises Problem 400, 403, 409 `wrong_state`, `already_open`.
    """
    _require(actor, stream, Action.STREAM_CHANGE)
    check_reason(reason)
    if stream.state in {Stream.State.RUNNING, Stream.State.STOPPING}:
        raise Problem(409, "wrong_state", "Stop the stream first. Nothing changed.", state=stream.state)
    return _open(actor, stream, None, reason=reason, key=key)


def _open(actor: Actor, stream: Stream, wanted: Wanted | None, *, reason: str, key: Key | None) -> Job:
    """A round with the definition as it was found just now; without one, a reset."""
    with transaction.atomic():
        locked = _locked(stream)
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


def _store_fresh(locked: Stream, wanted: Wanted) -> None:
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
    _require(actor, stream, Action.STREAM_STOP)
    with transaction.atomic():
        locked = _locked(stream)
        if locked.state != Stream.State.RUNNING:
            raise Problem(
                409, "wrong_state", f"The stream is {locked.state}: there is nothing to stop.", state=locked.state
            )
        record(actor, Action.STREAM_STOP, ObjectKind.STREAM, locked.pk, locked.name, table=locked.table_id)
        _end_waiting(actor, locked, "The stream was stopped.")
        runs = rounds.is_running(locked)
        state = Stream.State.STOPPING if runs else Stream.State.STOPPED
        text = f"Stopped by {actor.name}."
        Stream.objects.filter(pk=locked.pk).update(state=state, state_at=Now(), state_text=text, next_round_at=None)
        locked.refresh_from_db()
    return locked


def _end_waiting(actor: Actor, stream: Stream, text: str) -> None:
    """Cancels the stream's round if no worker has it yet."""
    opened = rounds.open_round(stream)
    if opened is None or opened.job.state not in IN_REVIEW:
        return
    try:
        move(opened.job, State.CANCELLED, Cause.CANCELLER, actor.name, text=text)
    except Fenced:
        return  # a worker has just claimed it
    StreamRound.objects.filter(pk=opened.pk).update(booked_at=Now())  # it did nothing that could be booked
    if stream.state == Stream.State.RUNNING:
        Stream.objects.filter(pk=stream.pk).update(next_round_at=Now())


def _check_start(actor: Actor, stream: Stream) -> Wanted:
    """What creation checked, checked again: schema and places may have changed since. Raises Problem."""
    wanted = _with_own_checkpoint(actor, stream, stream.asked)
    stored = Definition.from_json(stream.definition)
    if _table_id_of(wanted.definition) != _table_id_of(stored) and stream.query_id is not None:
        text = (
            "The source isn’t the one that the checkpoint has read from: the table was made anew at its path."
            " Reset the checkpoint to read it from its start."
        )
        raise Problem(409, "source_recreated", text)
    if stream.target_table_id and wanted.target_table_id != stream.target_table_id:
        text = "The target isn’t the table that this stream wrote into: it was replaced or is gone. Reset the checkpoint to begin anew."
        raise Problem(409, "target_changed", text)
    _refuse_predicted(wanted)
    return wanted


def _table_id_of(definition: Definition) -> str | None:
    return definition.source.table_id if isinstance(definition.source, TableSource) else None


def _locked(stream: Stream) -> Stream:
    locked = Stream.objects.select_for_update(of=("self",)).select_related("table", "run_by").get(pk=stream.pk)
    if locked.removed_at is not None:
        raise Problem(409, "wrong_state", "The stream was removed.")
    return locked


def _require(actor: Actor, stream: Stream, action: Action) -> None:
    if may_run(require_person(actor), stream):
        return
    text = "You may see this stream but not run or change it; that takes an operator of its table."
    refuse(actor, action, ObjectKind.STREAM, stream.pk, stream.name, Problem(403, "forbidden", text))
