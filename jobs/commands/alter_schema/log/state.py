"""What a change of the schema works on: schema, constraints, clustering, comment and protocol, and how a name finds its field."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.commands.alter_schema.rules import CONSTRAINTS, MAPPING_MODE, name_parts, written_name
from jobs.domain.consequences import listed
from jobs.domain.delta.data_types import DataType, type_text
from jobs.domain.delta.protocols import DeltaProtocol
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal
from jobs.targets.subject import CHANGE_FEED, Subject
from tables.deltalog.read.lines import parse_json

Field = dict[str, Any]
Path = tuple[str, ...]
_PHYSICAL = "delta.columnMapping.physicalName"


def refused(
    condition: str | None, sqlstate: str | None, text: str, remedy: str | None = None, place: str | None = None
) -> CommandRefused:
    """A refusal of what was asked for, with Delta's or Spark's condition where it has one."""
    engine = EngineFailure(condition, sqlstate, text) if condition else None
    return CommandRefused(Refusal("invalid", text, place=place, remedy=remedy, engine=engine))


@dataclass(slots=True)
class MetadataState:
    """A table's metadata, to be changed in place. `clustering` has the columns' paths; None for a table that isn't clustered."""

    fields: list[Field]
    partitions: list[str]
    configuration: dict[str, str]
    comment: str
    protocol: DeltaProtocol
    clustering: list[tuple[str, ...]] | None
    moves: list[tuple[Path, Path]] = field(
        default_factory=list
    )  # columns' old and new paths, in order; no old one for a new column

    def copy(self) -> MetadataState:
        return copy.deepcopy(self)

    @property
    def mapped(self) -> bool:
        """Whether the table maps columns by name or id, which a rename and a drop need."""
        return self.configuration.get(MAPPING_MODE, "none").lower() in ("name", "id")

    @property
    def change_feed(self) -> bool:
        return self.configuration.get(CHANGE_FEED, "").lower() == "true"

    @property
    def constraints(self) -> dict[str, str]:
        """The CHECK constraints' expressions by their names."""
        found = self.configuration.items()
        return {key.removeprefix(CONSTRAINTS): text for key, text in found if key.startswith(CONSTRAINTS)}

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "struct", "fields": self.fields}

    @property
    def schema_json(self) -> str:
        return json.dumps(self.schema)

    def path_before(self, path: Path) -> Path | None:
        """A column's path before all changes so far; None for one that a change has added."""
        for old, new in reversed(self.moves):
            if lower(path[: len(new)]) == lower(new):
                if not old:
                    return None
                path = (*old, *path[len(new) :])
        return path

    def as_json(self) -> dict[str, Any]:
        """As previews store it."""
        return {
            "schema": copy.deepcopy(self.schema),
            "comment": self.comment,
            "constraints": self.constraints,
            "clustering_columns": None if self.clustering is None else [written_name(path) for path in self.clustering],
        }


def state_of(subject: Subject) -> MetadataState:
    """The table as its log has it now."""
    metadata, protocol = subject.metadata, subject.snapshot.protocol
    fields = _fields(metadata.schema_json)
    versions = (1, 2) if protocol is None else (protocol.min_reader_version, protocol.min_writer_version)
    lists = (None, None) if protocol is None else (protocol.reader_features, protocol.writer_features)
    clustered = "clustering" in subject.snapshot.features
    return MetadataState(
        fields,
        list(metadata.partition_columns),
        dict(metadata.configuration),
        metadata.description or "",
        DeltaProtocol(*versions, *lists),
        _clustering(subject, fields) if clustered else None,
    )


def _fields(schema_json: str) -> list[Field]:
    """The columns as Delta writes them: other writers may leave out a field's metadata, and whether it can be NULL."""
    schema: dict[str, Any] = parse_json(schema_json)
    for each in all_fields(schema):
        each["metadata"] = each["metadata"] if isinstance(each.get("metadata"), dict) else {}
        each.setdefault("nullable", True)
    fields: list[Field] = schema["fields"]
    return fields


def _clustering(subject: Subject, fields: list[Field]) -> list[tuple[str, ...]]:
    known = dict(_paths_by_physical(fields, (), ()))
    return [known.get(path, path) for path in subject.snapshot.clustering_paths]


def _paths_by_physical(
    fields: Sequence[Field], above: tuple[str, ...], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for each in fields:
        physical = (*above, str(each["metadata"].get(_PHYSICAL) or each["name"]))
        yield physical, (*path, each["name"])
        if is_struct(each["type"]):
            yield from _paths_by_physical(each["type"]["fields"], physical, (*path, each["name"]))


@dataclass(slots=True)
class Spot:
    """A field found by its name: `siblings` is the list it stands in. Below an array or a map `part` is element, key or value of
    `holder`, which has no field of its own; `owner` is then the nearest field above, and `below` the way from it."""

    path: tuple[str, ...]
    owner: Field
    siblings: list[Field] | None
    holder: dict[str, Any] | None = None
    part: str = ""
    below: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return written_name(self.path)

    @property
    def type(self) -> DataType:
        found: DataType = self.holder[_KEYS[self.part]] if self.holder else self.owner["type"]
        return found

    @type.setter
    def type(self, kind: DataType) -> None:
        if self.holder:
            self.holder[_KEYS[self.part]] = kind
        else:
            self.owner["type"] = kind


_KEYS = {"element": "elementType", "key": "keyType", "value": "valueType"}
_PARTS = {"array": ("element",), "map": ("key", "value")}


def is_struct(kind: DataType) -> bool:
    return isinstance(kind, Mapping) and kind.get("type") == "struct"


def named(fields: Sequence[Field], name: str) -> Field | None:
    """The field of this name in any case."""
    return next((each for each in fields if each["name"].lower() == name.lower()), None)


def parts_of(state: MetadataState, text: str) -> list[str]:
    """A name's parts; a column whose own name has dots comes before a struct's field. Raises CommandRefused."""
    if named(state.fields, text) is not None:
        return [text]
    try:
        return name_parts(text)
    except ValueError as error:
        raise refused("PARSE_SYNTAX_ERROR", "42601", f"{error}.", place=text) from None


def find(state: MetadataState, text: str) -> Spot:
    """The field of a name. Raises CommandRefused with Spark's condition for a name that finds none."""
    return find_parts(state.fields, parts_of(state, text), text)


def find_parts(fields: list[Field], parts: Sequence[str], text: str) -> Spot:
    """The same for a name's parts; `text` is the name as it was asked for."""
    first = named(fields, parts[0])
    if first is None:
        raise _unresolved(parts[0], fields)
    spot = Spot((first["name"],), first, fields)
    for part in parts[1:]:
        spot = _below(spot, part, text)
    return spot


def _below(spot: Spot, part: str, text: str) -> Spot:
    kind = spot.type
    if is_struct(kind) and isinstance(kind, dict):
        below = named(kind["fields"], part)
        if below is None:
            raise _unresolved(part, kind["fields"])
        return Spot((*spot.path, below["name"]), below, kind["fields"])
    if isinstance(kind, dict) and part.lower() in _PARTS.get(kind["type"], ()):
        word = part.lower()
        return Spot((*spot.path, word), spot.owner, None, kind, word, (*spot.below, word))
    raise not_a_struct(written_name([*spot.path, part]), spot)


def not_a_struct(name: str, spot: Spot) -> CommandRefused:
    hint = " Go into an array by element, into a map by key or value." if isinstance(spot.type, dict) else ""
    text = f"Field name {name} is invalid: {spot.name} is not a struct.{hint}"
    return refused("INVALID_FIELD_NAME", "42000", text, place=name)


def _unresolved(name: str, fields: Sequence[Field]) -> CommandRefused:
    known = listed([f"`{each['name']}`" for each in fields])
    text = f"A column with name `{name}` cannot be resolved. Did you mean one of the following? [{known}]."
    return refused("UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", text, place=name)


def leaves(fields: Sequence[Field], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Every field that isn't a struct, with its path; not below arrays and maps."""
    for each in fields:
        path = (*above, each["name"])
        if is_struct(each["type"]):
            yield from leaves(each["type"]["fields"], path)
        else:
            yield path, each["type"]


def all_fields(kind: DataType) -> Iterator[Field]:
    """Every field in a type, at any depth, parents first."""
    if isinstance(kind, str):
        return
    for each in kind.get("fields", ()):
        yield each
        yield from all_fields(each["type"])
    for key in _KEYS.values():
        if key in kind:
            yield from all_fields(kind[key])


def described(kind: DataType) -> str:
    """A type in Spark's capitals, as its messages have it."""
    return type_text(kind).upper() if isinstance(kind, str) else type_text(kind)


def lower(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)


def overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one path lies in the other, or is the same, in any case."""
    length = min(len(one), len(other))
    return lower(one)[:length] == lower(other)[:length]
