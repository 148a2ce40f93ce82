"""From what a person asks for to a stream’s definition: places found below roots, names and options checked, steps resolved."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.http import Http404

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.stream_round.rules import (
    APPEND,
    COMPLETE,
    LEAST_INTERVAL,
    SINK_OPTIONS,
    Definition,
    FileSource,
    Steps,
    TableSource,
)
from jobs.domain.digest import sha256_of
from jobs.domain.errors import CommandRefused
from jobs.domain.storable import storable
from jobs.models import Stream
from jobs.streams import steps as reading
from jobs.streams.faults import Faults, StreamFault, invalid, problem_of, refuse_predicted
from jobs.streams.keys.creation import unused
from jobs.streams.options import options_of
from jobs.streams.prediction.first_batch import predict
from jobs.streams.prediction.values import StreamPrediction
from jobs.streams.sources import source_of
from jobs.streams.targets import checkpoint_of_query, target_of, target_place, target_subject
from jobs.targets import places
from tables.models import Table

AVAILABLE_NOW = "available_now"
_INTERVAL = re.compile(r"\s*(\d{1,6})\s*(s|seconds?|m|minutes?|h|hours?)\s*")
_UNITS = {"s": 1, "m": 60, "h": 3600}
_MODE = re.compile(r"[A-Za-z]{1,20}")
Asked = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WantedStream:
    """A checked definition, with the catalog's entries of its tables, and what its first batch would do.

    `made` are the directories that this request made: for a table that isn't there yet, and for a checkpoint.
    """

    definition: Definition
    interval: timedelta | None
    target: places.Place
    source_table: Table | None
    prediction: StreamPrediction
    target_table_id: str | None
    made: tuple[Path, ...] = ()


def wanted_of(actor: Actor, asked: Asked, checkpoint_of: uuid.UUID, *, is_new: bool = True) -> WantedStream:
    """The definition that a request asks for. Nothing is written, but for the directory of a table that isn't there yet.

    `checkpoint_of` is the stream's id, which names Levee's own place for its checkpoint; `is_new`: it has run no round. Raises
    Problem: 400 for a field, 403 `outside_roots` or `forbidden`, 404, 422 for a source or target that can't be read; Http404. Of
    several refusals it raises the first one, whose `fields` then hold those of the others too.
    """
    made: list[Path] = []
    faults = Faults()
    try:
        wanted = _wanted(actor, asked, checkpoint_of, made, is_new, faults)
        faults.raise_first()
    except (CommandRefused, Problem, Http404) as error:
        remove_made(made)
        raise (problem_of(error) if isinstance(error, CommandRefused) else error) from None
    if wanted is None:
        raise TypeError("a definition that isn't there was refused by nothing")
    return wanted


@dataclass(frozen=True, slots=True)
class Looked:
    """What a request would be refused for, all of it, and what it would be where that is nothing. Nothing was made or changed."""

    faults: list[StreamFault]
    wanted: WantedStream | None


def looked_at(actor: Actor, asked: Asked, *, is_new: bool = True, whole: bool = True) -> Looked:
    """Judges a request as `wanted_of` does, and tells all of its refusals. Without `whole` its source and trigger alone are judged."""
    faults = Faults()
    if not whole:
        faults.of("", lambda: _read_parts(actor, asked, is_new, faults, steps=False))
        return Looked(faults.found, None)
    wanted = faults.of("target", lambda: _wanted(actor, asked, uuid.uuid4(), None, is_new, faults))
    if wanted is not None:
        faults.of("", lambda: refuse_predicted(wanted.prediction))
    return Looked(faults.found, wanted)


def remove_made(directories: Iterable[Path]) -> None:
    """Removes directories that were made for a stream of which nothing came, unless another request's stream has them by now."""
    for directory in unused(directories):
        with suppress(OSError):  # not empty any more: somebody else's by now
            directory.rmdir()


@dataclass(frozen=True, slots=True)
class _Parts:
    """Of a request what lies before its target; `source` and `steps` are None where they are refused."""

    mode: Any
    sink: Mapping[str, str]
    source: tuple[FileSource | TableSource, dict[str, Any], Table | None] | None
    steps: Steps | None
    interval: timedelta | None


def _read_parts(actor: Actor, asked: Asked, is_new: bool, faults: Faults, *, steps: bool = True) -> _Parts:
    _refuse_unstorable(asked)  # before anything is looked up
    mode = faults.of("output_mode", lambda: _mode(str(asked.get("output_mode") or APPEND)))
    options = faults.of("options", lambda: options_of(asked.get("options") or {})) or {}
    sink = {name: value for name, value in options.items() if name in SINK_OPTIONS}
    source = source_of(actor, asked.get("source") or {}, options, is_new, faults)
    taken = _steps(asked, source[1], faults) if steps and source else None
    interval = faults.of("trigger", lambda: interval_of(asked.get("trigger") or AVAILABLE_NOW))
    return _Parts(mode, sink, source, taken, interval)


def _wanted(
    actor: Actor, asked: Asked, checkpoint_of: uuid.UUID, made: list[Path] | None, is_new: bool, faults: Faults
) -> WantedStream | None:
    """The definition, or None where `faults` holds why there is none: nothing is made for a request that is refused before its target."""
    parts = _read_parts(actor, asked, is_new, faults)
    makes = None if faults.found else made
    place = faults.of("target", lambda: target_place(actor, asked.get("target") or {}, makes, is_new))
    if place is None or parts.source is None:
        return None
    source, struct, source_table = parts.source
    checkpoint = faults.of(
        "checkpoint",
        lambda: checkpoint_of_query(actor, asked.get("checkpoint"), checkpoint_of, place.path, source.path, makes),
    )
    faults.of("target", lambda: _refuse_loop(source, place.path))
    if faults.found or checkpoint is None or parts.steps is None:
        return None
    definition = Definition(
        source=source,
        path=place.path,
        checkpoint=checkpoint,
        output_mode=parts.mode,
        partition_by=tuple(asked.get("partition_by") or ()),
        options=parts.sink,
        steps=parts.steps,
    )
    subject = target_subject(place.table)
    predicted = predict(definition, struct, target_of(subject))
    return WantedStream(
        definition,
        parts.interval,
        place,
        source_table,
        predicted,
        subject.metadata.id if subject else None,
        tuple(made or ()),
    )


def _refuse_unstorable(asked: Asked) -> None:
    """Characters that the database holds in no text: a NUL, half a surrogate pair. Raises Problem 400."""
    for field, value in asked.items():
        if storable(value) != value:
            raise invalid(field, f"{field} holds a character that can’t be stored.")


def _refuse_loop(source: FileSource | TableSource, target: str) -> None:
    """Files that a stream writes into its own source would come back for ever."""
    if not isinstance(source, FileSource):
        return
    if f"{target}/".startswith(f"{source.path}/") or f"{source.path}/".startswith(f"{target}/"):
        raise invalid(
            "target", f"Target and source {source.path} lie inside each other: the stream would read what it writes."
        )


def _mode(text: str) -> Any:
    if text.lower() in {APPEND, COMPLETE}:
        return text.lower()
    shown = text.capitalize() if _MODE.fullmatch(text) else text
    message = f"Data source delta does not support {shown} output mode: use append or complete."
    engine = {"condition": "DELTA_UNSUPPORTED_OUTPUT_MODE", "sqlstate": "0AKDC", "message": message}
    raise Problem(400, "invalid", message, fields={"output_mode": message}, engine=engine)


def _steps(asked: Asked, struct: dict[str, Any], faults: Faults) -> Steps | None:
    """The steps, checked against the source's columns; None if one is refused. A step after a refused one may go unjudged."""
    before = len(faults.found)
    steps = Steps(rename=dict(asked.get("rename") or {}))
    if faults.of("rename", lambda: reading.after_steps(struct, steps)) is None:
        return None
    cast = replace(steps, cast=dict(asked.get("cast") or {}))
    if faults.of("cast", lambda: reading.after_steps(struct, cast)) is not None:
        steps = _filtered(asked, struct, cast, faults)
    selected = replace(steps, select=tuple(asked.get("select") or ()))
    if faults.of("select", lambda: reading.after_steps(struct, selected)) is not None:
        steps = faults.of("aggregate", lambda: _counted(asked, struct, selected)) or steps
    return steps if len(faults.found) == before else None


def _filtered(asked: Asked, struct: dict[str, Any], steps: Steps, faults: Faults) -> Steps:
    if not asked.get("filter"):
        return steps
    read = faults.of("filter", lambda: reading.read_filter(str(asked["filter"]), struct, steps))
    return steps if read is None else replace(steps, filter=read[0], filter_text=read[1])


def _counted(asked: Asked, struct: dict[str, Any], steps: Steps) -> Steps:
    aggregate = asked.get("aggregate") or {}
    if aggregate and not aggregate.get("count_as"):
        raise invalid("aggregate", "Name the column that holds the count: count_as.")
    counted = replace(
        steps, group_by=tuple(aggregate.get("group_by") or ()), count_as=aggregate.get("count_as") or None
    )
    reading.after_steps(struct, counted)
    return counted


def interval_of(trigger: Any) -> timedelta | None:
    """The interval of a trigger; None for `available_now`. Raises Problem 400."""
    if trigger == AVAILABLE_NOW:
        return None
    text = trigger["interval"] if isinstance(trigger, Mapping) and set(trigger) == {"interval"} else None
    match = _INTERVAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise invalid("trigger", 'A trigger is "available_now" or {"interval": "30s"}, in seconds, minutes or hours.')
    interval = timedelta(seconds=int(match[1]) * _UNITS[match[2][0]])
    if not LEAST_INTERVAL <= interval <= timedelta(days=1):
        raise invalid("trigger", "An interval is 10 seconds or more, and a day at most.")
    return interval


def with_checkpoint(definition: dict[str, Any], checkpoint: str) -> tuple[dict[str, Any], str]:
    """A stored definition whose checkpoint lies elsewhere by now, and its sha-256."""
    moved = Definition.from_json({**definition, "checkpoint": checkpoint}).as_json()
    return moved, sha256_of(moved)


def with_own_checkpoint(actor: Actor, stream: Stream, asked: Mapping[str, Any]) -> WantedStream:
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
