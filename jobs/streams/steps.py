"""What a stream's steps make of its source's schema. Spark's struct as JSON throughout."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.commands.stream_round.rules import Steps
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates import stored, typenames
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from jobs.streams.source_schema import JSON_NAMES, Json, field_of
from tables.deltalog.rules.schema import Column, parse_schema, type_text

STEP_REFUSED = "step_refused"


def after_steps(struct_json: Mapping[str, Any], steps: Steps) -> Json:
    """The struct of the rows that a batch writes: after rename, cast, filter, select and aggregate, in this order.

    Names find columns without regard to case; a column that a cast, select or group names has that spelling afterwards, as in Spark
    [run on 4.2.0]. A count is BIGINT and never NULL. No `select` means all columns; no `group_by` with `count_as` one count of all rows.

    Raises CommandRefused (`step_refused`, its place the step's name) for what Spark would refuse, or do otherwise than one expects.
    """
    fields = _cast(_renamed(_fields_of(struct_json), steps.rename), steps.cast)
    if steps.filter is not None:
        _check_filter(fields, steps.filter)
    if steps.select:
        fields = _selected("select", fields, steps.select)
    if steps.count_as is not None or steps.group_by:
        fields = _counted(fields, steps.group_by, steps.count_as)
    return {"type": "struct", "fields": fields}


def other_group(before: Mapping[str, Any], old: Steps, after: Mapping[str, Any], new: Steps) -> str | None:
    """The first grouped column that has another name or type after the new steps, as a sentence's start; None if all stayed.

    Spark keeps the counts by these columns' types (STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE). None also where the old steps no
    longer fit their source: a change may mend just that. Raises CommandRefused as `after_steps` for the new ones.
    """
    if not old.group_by or not new.group_by:
        return None
    later = _groups_of(after, new)
    try:
        former = _groups_of(before, old)
    except CommandRefused:
        return None
    for was, becomes in zip(former, later, strict=False):
        if was.name.lower() != becomes.name.lower():
            return f"The stream counts by {was.name}, and would count by {becomes.name}"
        if (from_type := type_text(was.type)) != (to_type := type_text(becomes.type)):
            return f"The stream counts by {was.name}, whose type would change from {from_type} to {to_type}"
    return None


def _groups_of(struct: Mapping[str, Any], steps: Steps) -> tuple[Column, ...]:
    return parse_schema(json.dumps(after_steps(struct, steps))).columns[:-1]


def read_filter(text: str, struct_json: Mapping[str, Any], steps: Steps) -> tuple[Json, str]:
    """A filter's tree as JSON, and its one spelling, from a predicate on the columns as they are after rename and cast.

    Raises CommandRefused: `predicate_refused` for the predicate, `step_refused` for the steps before it.
    """
    fields = _cast(_renamed(_fields_of(struct_json), steps.rename), steps.cast)
    tree = parse(text, _predicate_schema(fields))
    return stored.to_json(tree), to_text(tree)


def _fields_of(struct_json: Mapping[str, Any]) -> list[Json]:
    return [dict(field) for field in struct_json["fields"]]


def _find(step: str, fields: Sequence[Json], name: str) -> int:
    """The place of the one column of that name, whatever its case."""
    found = [at for at, field in enumerate(fields) if field["name"].lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(fields[at]["name"] for at in found)
        raise _no_step(step, f"{name} could be any of {names}: Spark doesn’t tell upper from lower case")
    there = ", ".join(field["name"] for field in fields[:20]) + (", …" if len(fields) > 20 else "")
    raise _no_step(
        step,
        f"there is no column {name[:200]}",
        f"The columns are {there}. Names with dots are names: fields of structs can’t be named here.",
    )


def _renamed(fields: list[Json], rename: Mapping[str, str]) -> list[Json]:
    """All columns are renamed at once. A new name that is in use is refused, even if that column is renamed too."""
    named: dict[int, str] = {}
    for old, new in rename.items():
        at = _find("rename", fields, old)
        if at in named:
            raise _no_step("rename", f"{fields[at]['name']} is renamed twice")
        _require_new_name("rename", new)
        taken = [
            field["name"] for other, field in enumerate(fields) if other != at and field["name"].lower() == new.lower()
        ]
        if taken or any(new.lower() == other.lower() for other in named.values()):
            raise _no_step(
                "rename", f"{old} can’t be renamed to {new}: there is a column {taken[0] if taken else new} already"
            )
        named[at] = new
    return [{**field, "name": named.get(at, field["name"])} for at, field in enumerate(fields)]


def _require_new_name(step: str, name: str) -> None:
    if not name or not name.isprintable():
        raise _no_step(step, f"{name!a} can’t be a column’s name")


def _cast(fields: list[Json], cast: Mapping[str, str]) -> list[Json]:
    kinds = _predicate_schema(fields).fields if cast else ()
    result = list(fields)
    done: set[int] = set()
    for name, text in cast.items():
        at = _find("cast", fields, name)
        if at in done:
            raise _no_step("cast", f"{fields[at]['name']} is cast twice")
        done.add(at)
        target = _type_of(name, text)
        if not typenames.can_cast(kinds[at].type, target):
            raise _no_step("cast", f"{name} is {_shown(kinds[at], fields[at])}, which Spark can’t cast to {target}")
        result[at] = field_of(name, JSON_NAMES.get(target, target), nullable=True)
    return result


def _type_of(name: str, text: str) -> str:
    try:
        return typenames.parse_type(text)
    except ValueError as error:
        raise _no_step("cast", f"{name} can’t be cast to {text[:60]}: {error}") from None


def _shown(kind: Field, field: Json) -> str:
    """The type as a person reads it, short."""
    return kind.type if isinstance(field["type"], str) else f"a column of type {field['type']['type']}"


def _check_filter(fields: list[Json], tree: Mapping[str, Any]) -> None:
    """The stored predicate must fit these columns."""
    try:
        parse(to_text(stored.from_json(tree)), _predicate_schema(fields))
    except ValueError as error:
        raise _no_step("filter", str(error)) from None
    except CommandRefused as refused:
        raise _no_step("filter", refused.refusals[0].message, refused.refusals[0].remedy) from None


def _selected(step: str, fields: list[Json], names: Sequence[str]) -> list[Json]:
    chosen: dict[int, str] = {}
    for name in names:
        at = _find(step, fields, name)
        if at in chosen:
            raise _no_step(step, f"{name} is named twice")
        chosen[at] = name
    return [{**fields[at], "name": name} for at, name in chosen.items()]


def _counted(fields: list[Json], group_by: Sequence[str], count_as: str | None) -> list[Json]:
    if count_as is None:
        raise _no_step("aggregate", "the column that holds the count has no name", "Name it: count_as.")
    _require_new_name("aggregate", count_as)
    groups = _selected("aggregate", fields, group_by)
    for field in groups:
        if field["name"].lower() == count_as.lower():
            raise _no_step(
                "aggregate", f"the count can’t be called {count_as}: rows are grouped by a column of that name"
            )
        if _holds_variant(field["type"]):
            raise _no_step("aggregate", f"Spark can’t group by {field['name']}: values of type variant have no order")
    return [*groups, field_of(count_as, "long", nullable=False)]


def _holds_variant(kind: Any) -> bool:
    return any(part == "variant" for part in _parts(kind))


def _parts(kind: Any) -> Iterable[str]:
    """The names of all simple types in a type."""
    if isinstance(kind, str):
        return (kind,)
    below = [field["type"] for field in kind.get("fields", ())]
    below += [kind[part] for part in ("elementType", "keyType", "valueType") if part in kind]
    return (name for inner in below for name in _parts(inner))


def _predicate_schema(fields: Sequence[Json]) -> Schema:
    """The columns as predicates see them. All may be NULL: Spark reads files so, whatever their schema says (fileSource.forceNullable)."""
    struct = parse_schema(json.dumps({"type": "struct", "fields": list(fields)}))
    return Schema(tuple(_nullable(field) for field in schema_of(struct).fields))


def _nullable(field: Field) -> Field:
    return Field(field.name, field.type, True, tuple(_nullable(inner) for inner in field.fields))


def _no_step(step: str, reason: str, remedy: str | None = None) -> CommandRefused:
    return CommandRefused(
        Refusal(STEP_REFUSED, f"The step “{step}” can’t be taken: {reason}.", place=step, remedy=remedy)
    )
