"""What people do with the definitions of streams: create, change, remove. Each checks, acts and audits in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from jobs.commands.stream_round.rules import Definition
from jobs.domain.digest import sha256_of
from jobs.lifecycle.cancelling import require_person
from jobs.models import Stream
from jobs.requests.asking import IdempotencyKey, check_reason
from jobs.streams import lag, rounds
from jobs.streams.access import locked_row, require_operator
from jobs.streams.booking import booked
from jobs.streams.definition import Looked, WantedStream, looked_at, remove_made, wanted_of, with_own_checkpoint
from jobs.streams.faults import Faults, invalid, refuse_predicted, taken
from jobs.streams.keys import creation as creation_keys
from jobs.streams.sources import stored_struct
from jobs.streams.steps import other_group
from jobs.streams.targets import entry_of

NAME_LENGTH = 100
# What a checkpoint can't follow: Spark keeps the source's and the aggregation's state in it.
FIXED = ("source", "aggregate", "output_mode", "target", "checkpoint")
FIELDS = (
    "source", "rename", "cast", "filter", "select", "aggregate", "target", "checkpoint", "output_mode", "partition_by", "options",
    "trigger",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CreatedStream:
    """A stream, and whether this call made it (False: an earlier request with the same idempotency key did)."""

    stream: Stream
    fresh: bool


def create(actor: Actor, name: str, reason: str, asked: Mapping[str, Any]) -> Stream:
    """A stream, stopped. Raises Problem: 400, 403, 404, 409 `name_taken`, 422 with what its first batch would be refused for."""
    return _create(actor, name, reason, asked, None)


def create_once(actor: Actor, name: str, reason: str, asked: Mapping[str, Any], key: IdempotencyKey) -> CreatedStream:
    """The same, once for each key of a person. Raises Problem as `create`; 409 `idempotency_conflict`."""
    if known := creation_keys.known_stream(actor, key):
        return CreatedStream(known, fresh=False)
    try:
        return CreatedStream(_create(actor, name, reason, asked, key), fresh=True)
    except (Problem, IntegrityError):  # the same request, which came at the same moment, may have been first
        if known := creation_keys.known_stream(actor, key):
            return CreatedStream(known, fresh=False)
        raise


def _create(actor: Actor, name: str, reason: str, asked: Mapping[str, Any], key: IdempotencyKey | None) -> Stream:
    person = require_person(actor)
    check_reason(reason)
    name = _checked_name(name)
    stream_id = uuid.uuid4()
    wanted = wanted_of(actor, asked, stream_id)
    try:
        refuse_predicted(wanted.prediction)
        with transaction.atomic():
            table = entry_of(actor, wanted.target)
            stream = Stream(
                id=stream_id,
                name=name,
                reason=reason,
                table=table,
                created_by=person,
                edited_by=[str(person.pk)],
                idempotency_key=key.text if key else None,
                request_sha256=key.request_sha256 if key else "",
                **_fields(wanted, asked),
            )
            record(
                actor, Action.STREAM_CREATE, ObjectKind.STREAM, stream.pk, name,
                reason=reason, after=_shown(stream), table=table.pk,
            )  # fmt: skip
            stream.save(force_insert=True)
    except (Problem, IntegrityError) as error:
        remove_made(wanted.made)
        raise (taken(error, name) if isinstance(error, IntegrityError) else error) from None
    return stream


def looked_at_new(actor: Actor, name: str, reason: str, asked: Mapping[str, Any]) -> Looked:
    """All that `create` would refuse of a stream, which isn't made. That its name or checkpoint is another's shows with `create` alone."""
    faults = Faults()
    faults.of("name", lambda: _checked_name(name))
    faults.of("reason", lambda: check_reason(reason))
    looked = looked_at(actor, asked)
    return Looked([*looked.faults, *faults.found], looked.wanted)


def looked_at_change(actor: Actor, stream: Stream, changes: Mapping[str, Any], *, whole: bool = True) -> Looked:
    """The same of `change`; without `whole` as `looked_at` has it."""
    asked = {**stream.asked, **{field: changes[field] for field in FIELDS if field in changes}}
    faults = Faults()
    faults.of("source", lambda: _refuse_unfollowable(stream, asked))
    looked = looked_at(actor, {**asked, "checkpoint": None}, is_new=False, whole=whole)
    wanted = looked.wanted
    if wanted is not None:
        faults.of("aggregate", lambda: _refuse_other_groups(stream, wanted.definition))
    faults.of("name", lambda: _checked_name(str(changes.get("name") or stream.name)))
    faults.of("reason", lambda: check_reason(str(changes.get("reason") or stream.reason)))
    return Looked([*looked.faults, *faults.found], wanted)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or not name.isprintable():
        raise invalid("name", f"A stream needs a name of 1 to {NAME_LENGTH} printable characters.")
    return name


def _fields(wanted: WantedStream, asked: Mapping[str, Any]) -> dict[str, Any]:
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


def change(actor: Actor, stream: Stream, changes: Mapping[str, Any]) -> Stream:
    """The stream with another definition, from its next round on; voids the approval that its old one had.

    Raises Problem as `create`; 409 `needs_reset` for what its checkpoint can't follow.
    """
    require_operator(actor, stream, Action.STREAM_CHANGE)
    stream = booked(stream)
    asked = {**stream.asked, **{field: changes[field] for field in FIELDS if field in changes}}
    _refuse_unfollowable(stream, asked)
    wanted = with_own_checkpoint(actor, stream, asked)
    _refuse_other_groups(stream, wanted.definition)
    refuse_predicted(wanted.prediction)
    person, before = require_person(actor), _shown(stream)
    fields = _fields(wanted, asked) | {
        "checkpoint": stream.checkpoint,
        "target_table_id": stream.target_table_id or wanted.target_table_id,
    }
    if name := changes.get("name"):
        fields["name"] = _checked_name(name)
    if reason := changes.get("reason"):
        check_reason(reason)
        fields["reason"] = reason
    try:
        with transaction.atomic():
            locked = locked_row(stream)
            _refuse_changed(stream, locked)
            if _bound("source", asked.get("source")) != _bound("source", locked.asked.get("source")):
                _forget_lags(locked)
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
            rounds.end_waiting(actor, locked, "The stream’s definition has changed.")
    except IntegrityError as error:
        raise taken(error, str(fields.get("name"))) from None
    return locked


def _forget_lags(stream: Stream) -> None:
    """How far a stream was behind another source says nothing of this one, whose unit may be another. The caller saves the stream."""
    stream.lags.all().delete()
    stream.lag, stream.lag_at, stream.lag_text = None, None, ""


def _refuse_changed(seen: Stream, locked: Stream) -> None:
    """Two people who change a stream at once: the second one looks again. Raises Problem 409 `wrong_state`."""
    if seen.revision != locked.revision:
        raise Problem(
            409,
            "wrong_state",
            "The stream was changed meanwhile. Nothing changed; look at it again.",
            state=locked.state,
        )


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


def _refuse_other_groups(stream: Stream, wanted: Definition) -> None:
    """A checkpoint keeps the counts by the types of the grouped columns. Raises Problem 409 `needs_reset`."""
    stored = Definition.from_json(stream.definition)
    if stored.steps.count_as is None or not _has_begun(stream):
        return
    moved = other_group(stored_struct(stored.source), stored.steps, stored_struct(wanted.source), wanted.steps)
    if moved is not None:
        text = f"{moved}: the checkpoint can’t follow. Reset the checkpoint first; nothing was changed."
        raise Problem(409, "needs_reset", text, fields={"aggregate": text})


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


def remove(actor: Actor, stream: Stream, reason: str = "") -> None:
    """Removes a stopped stream from the lists; its past stays on record, its checkpoint where it is.

    Raises Problem 403, 409 `wrong_state`.
    """
    require_operator(actor, stream, Action.STREAM_DELETE)
    take_away(actor, booked(stream), reason)


def require_still(stream: Stream) -> None:
    """Raises Problem 409 `wrong_state` while the stream runs or a round of it is open."""
    if stream.state in {Stream.State.RUNNING, Stream.State.STOPPING} or rounds.open_round(stream):
        raise Problem(409, "wrong_state", "Stop the stream first: a round of it is open.", state=stream.state)


def take_away(actor: Actor, stream: Stream, reason: str = "") -> None:
    """As `remove`, for an act on the stream's root, whose own permission was checked. Raises Problem 409 `wrong_state`."""
    with transaction.atomic():
        locked = locked_row(stream)
        require_still(locked)
        record(
            actor, Action.STREAM_DELETE, ObjectKind.STREAM, locked.pk, locked.name,
            reason=reason, before=_shown(locked), table=locked.table_id,
        )  # fmt: skip
        Stream.objects.filter(pk=locked.pk).update(removed_at=Now())
