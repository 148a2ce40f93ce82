"""What a prediction is made of: the table that is there, what was found, and what it comes to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jobs.commands.stream_round.rules import is_on
from jobs.domain.errors import Refusal
from tables.deltalog.rules.schema import Array, Map, Primitive, Struct, Type, parse_schema, walk

Outcome = Literal["creates", "appends", "replaces", "refused"]
Path = tuple[str, ...]

_CONSTRAINT = "delta.constraints."
NTZ = "timestamp_ntz"
UNSURE = "Delta decides when the batch runs"


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """The table that is there: its struct as JSON with all metadata, and its metadata's partition columns and properties.

    `features` are the names of its protocol's table features, those of legacy versions too; None if the caller doesn't know them.
    """

    schema: Mapping[str, Any]
    partition_columns: Sequence[str] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class StreamNote:
    """Something that follows from the batch, as a sentence; `code` is stable."""

    code: str
    text: str

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "text": self.text}


@dataclass(frozen=True, slots=True)
class StreamPrediction:
    """`refusals` are all that were found, the one that Spark or Delta would raise first at the front; `refused` has one at least."""

    outcome: Outcome
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[StreamNote, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "refusals": [refusal.as_json() for refusal in self.refusals],
            "notes": [note.as_json() for note in self.notes],
        }


Found = Iterator[Refusal | StreamNote]


@dataclass(frozen=True, slots=True)
class TargetTable:
    """A target as trees."""

    struct: Struct
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    features: Sequence[str] | None

    @classmethod
    def of(cls, target: ExistingTable) -> TargetTable:
        return cls(tree_of(target.schema), tuple(target.partition_columns), target.configuration, target.features)

    def is_on(self, name: str) -> bool:
        return is_on(self.configuration.get(name))

    @property
    def is_mapped(self) -> bool:
        """Whether columns are found by physical names or ids, so that any character may stand in a name."""
        return self.configuration.get("delta.columnMapping.mode", "none").lower() in ("name", "id")

    @property
    def constraints(self) -> list[str]:
        return sorted(name.removeprefix(_CONSTRAINT) for name in self.configuration if name.startswith(_CONSTRAINT))


def tree_of(value: Mapping[str, Any]) -> Struct:
    return parse_schema(json.dumps(value))


def holds(kind: Type, name: str) -> bool:
    """Whether a type is, or an array or map has below it, a simple type; a struct's fields have paths of their own."""
    if isinstance(kind, Array):
        return holds(kind.element, name)
    if isinstance(kind, Map):
        return holds(kind.key, name) or holds(kind.value, name)
    return isinstance(kind, Primitive) and kind.name == name


def uses(struct: Struct, name: str) -> bool:
    return any(holds(column.type, name) for _, column in walk(struct))
