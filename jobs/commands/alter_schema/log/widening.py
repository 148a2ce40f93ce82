"""The types that a column can widen to, or why there is none: what the page offers before a type is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.commands.alter_schema.log.columns import WIDENING, widen
from jobs.commands.alter_schema.log.preview import state_after
from jobs.commands.alter_schema.log.state import MetadataState, Spot, find
from jobs.commands.alter_schema.rules import Change
from jobs.domain.delta.data_types import type_text, widenings, wider_decimals
from jobs.domain.errors import CommandRefused
from jobs.targets.subject import Subject


@dataclass(frozen=True, slots=True)
class Widening:
    """`types` that a column can widen to, in Spark's words, and `text`, which says so, or why there is none."""

    types: Sequence[str]
    text: str


def widening_of(subject: Subject, changes: Sequence[Change], name: str) -> Widening:
    """What the column can widen to after the changes so far."""
    try:
        state = state_after(subject, changes)
    except CommandRefused as refused:
        return _refused(refused)
    return widening_in(state, name)


def widening_in(state: MetadataState, name: str) -> Widening:
    """What the column can widen to as the table is."""
    try:
        spot = find(state, name)
        types = widenings(spot.type)
        if not types:
            return Widening((), _none(spot))
        _refuse(state, spot, types[0])
    except CommandRefused as refused:
        return _refused(refused)
    decimals = wider_decimals(spot.type)
    listed = ", ".join(types) + (f", and to {decimals}" if decimals else "")
    text = f"{spot.name} is {type_text(spot.type)}. It can widen to {listed}."
    return Widening(types, text if _allowed(state) else f"{text} The table needs {WIDENING} first.")


def _refused(refused: CommandRefused) -> Widening:
    first = refused.refusals[0]
    return Widening((), f"{first.message} {first.remedy or ''}".strip())


def _allowed(state: MetadataState) -> bool:
    return state.configuration.get(WIDENING, "").lower() == "true"


def _refuse(state: MetadataState, spot: Spot, kind: str) -> None:
    """Raises CommandRefused for a column that can't change its type at all: what refuses one wider type refuses each."""
    tried = state.copy()
    tried.configuration[WIDENING] = "true"
    widen(tried, {"path": spot.name, "type": kind})


def _none(spot: Spot) -> str:
    kind = spot.type
    if isinstance(kind, str):
        whole = (
            "has as many digits as a decimal can have" if kind.startswith("decimal") else "has no wider type in Delta"
        )
        return f"{spot.name} can’t widen: {type_text(kind)} {whole}."
    parts = {
        "array": "its elements by .element",
        "map": "its keys by .key or its values by .value",
        "struct": "one of its fields",
    }
    return f"{spot.name} can’t widen as a whole: its type is {kind['type']}. Name {parts[kind['type']]} instead."
