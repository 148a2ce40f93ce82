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
from jobs.streams.creation_keys import unused
from jobs.streams.faults import invalid
from jobs.streams.options import options_of
from jobs.streams.prediction.first_batch import predict
from jobs.streams.prediction.values import Prediction
from jobs.streams.sources import source_of
from jobs.streams.targets import checkpoint_of_query, target_of, target_place, target_subject
from jobs.targets import places
from jobs.targets.problems import problem_of_refused
from tables.models import Table

AVAILABLE_NOW = "available_now"
_INTERVAL = re.compile(r"\s*(\d{1,6})\s*(s|seconds?|m|minutes?|h|hours?)\s*")
_UNITS = {"s": 1, "m": 60, "h": 3600}
_MODE = re.compile(r"[A-Za-z]{1,20}")
Asked = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A checked definition, with the catalog's entries of its tables, and what its first batch would do.

    `made` are the directories that this request made: for a table that isn't there yet, and for a checkpoint.
    """

    definition: Definition
    interval: timedelta | None
    target: places.Place
    source_table: Table | None
    prediction: Prediction
    target_table_id: str | None
    made: tuple[Path, ...] = ()


def wanted_of(actor: Actor, asked: Asked, checkpoint_of: uuid.UUID, *, is_new: bool = True) -> Wanted:
    """The definition that a request asks for. Nothing is written, but for the directory of a table that isn't there yet.

    `checkpoint_of` is the stream's id, which names Levee's own place for its checkpoint; `is_new`: it has run no round. Raises
    Problem: 400 for a field, 403 `outside_roots` or `forbidden`, 404, 422 for a source or target that can't be read; Http404.
    """
    made: list[Path] = []
    try:
        return _wanted(actor, asked, checkpoint_of, made, is_new)
    except (CommandRefused, Problem, Http404) as error:
        remove_made(made)
        raise (_problem_of(error) if isinstance(error, CommandRefused) else error) from None


def remove_made(directories: Iterable[Path]) -> None:
    """Removes directories that were made for a stream of which nothing came, unless another request's stream has them by now."""
    for directory in unused(directories):
        with suppress(OSError):  # not empty any more: somebody else's by now
            directory.rmdir()


def _problem_of(refused: CommandRefused) -> Problem:
    first = refused.refusals[0]
    problem = problem_of_refused(refused)
    if first.code in {"schema_refused", "step_refused", "predicate_refused"}:
        problem.status = 400
        problem.fields = {"filter" if first.code == "predicate_refused" else first.place or "filter": problem.detail}
    return problem


def _wanted(actor: Actor, asked: Asked, checkpoint_of: uuid.UUID, made: list[Path], is_new: bool) -> Wanted:
    _refuse_unstorable(asked)
    mode = _mode(str(asked.get("output_mode") or APPEND))
    options = options_of(asked.get("options") or {})
    sink = {name: value for name, value in options.items() if name in SINK_OPTIONS}
    source, struct, source_table = source_of(actor, asked.get("source") or {}, options, is_new)
    steps = _steps(asked, struct)
    interval = interval_of(asked.get("trigger") or AVAILABLE_NOW)
    place = target_place(actor, asked.get("target") or {}, made, is_new)
    checkpoint = checkpoint_of_query(actor, asked.get("checkpoint"), checkpoint_of, place.path, source.path, made)
    _refuse_loop(source, place.path)
    definition = Definition(
        source=source,
        path=place.path,
        checkpoint=checkpoint,
        output_mode=mode,
        partition_by=tuple(asked.get("partition_by") or ()),
        options=sink,
        steps=steps,
    )
    subject = target_subject(place.table)
    predicted = predict(definition, struct, target_of(subject))
    return Wanted(
        definition, interval, place, source_table, predicted, subject.metadata.id if subject else None, tuple(made)
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


def _steps(asked: Asked, struct: dict[str, Any]) -> Steps:
    """The steps, checked against the source's columns. Raises CommandRefused, Problem 400."""
    aggregate = asked.get("aggregate") or {}
    steps = Steps(
        rename=dict(asked.get("rename") or {}),
        cast=dict(asked.get("cast") or {}),
        select=tuple(asked.get("select") or ()),
        group_by=tuple(aggregate.get("group_by") or ()),
        count_as=aggregate.get("count_as") or None,
    )
    if aggregate and not steps.count_as:
        raise invalid("aggregate", "Name the column that holds the count: count_as.")
    if asked.get("filter"):
        tree, text = reading.read_filter(str(asked["filter"]), struct, steps)
        steps = replace(steps, filter=tree, filter_text=text)
    reading.after_steps(struct, steps)
    return steps


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


def with_own_checkpoint(actor: Actor, stream: Stream, asked: Mapping[str, Any]) -> Wanted:
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
