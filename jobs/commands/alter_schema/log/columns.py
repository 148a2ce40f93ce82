"""What each change of a column makes of a table's metadata, or why Delta would refuse it.

Rules: Delta 4.4.0, `alterDeltaTableCommands.scala`, `SchemaUtils`, `TypeWideningMetadata` and `DeltaColumnMapping`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.commands.alter_schema.log.dependents import refuse_dependents
from jobs.commands.alter_schema.log.state import (
    Field,
    MetadataState,
    Spot,
    all_fields,
    described,
    find,
    find_parts,
    is_struct,
    lower,
    named,
    not_a_struct,
    overlap,
    refused,
)
from jobs.commands.alter_schema.rules import MAPPING_MODE, name_parts, written_name
from jobs.domain.delta.column_names import is_invalid
from jobs.domain.delta.data_types import DataType, WrongType, can_widen, features_of, parse_type, type_text
from jobs.domain.delta.protocols import protocol_with
from jobs.domain.errors import CommandRefused, Refusal
from tables.deltalog.rules.column_lists import listed_columns
from tables.deltalog.rules.schema import GENERATED, HIGHEST_ID, IDENTITY, highest_id
from tables.rules.column_statistics import STATS_COLUMNS

RESERVED = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
WIDENING = "delta.enableTypeWidening"
TYPE_CHANGES = "delta.typeChanges"
BY_HAND = frozenset({"timestampNtz"})  # Delta switches it on for a new column only if it was asked for
ADVICE = "Please enable Column Mapping on your Delta table with mapping mode 'name'. Column mapping requires at least protocol (2, 5)."


def add(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a column or a nested field, last in its struct unless it is placed. Returns the change as it is stored."""
    parts = parts_of_new(state, value["path"])
    siblings, above = _siblings(state, parts, value["path"])
    name, kind = parts[-1], _type(value["type"])
    full = written_name([*above, name])
    if named(siblings, name) is not None:
        raise _exists("add", full)
    _check_reserved(name, above)
    _check_names(state, [name, *(each["name"] for each in all_fields(kind))])
    _check_duplicates(kind, full)
    _switch_on(state, features_of(kind))
    made: Field = {"name": name, "type": kind, "nullable": True, "metadata": {}}
    if value.get("comment"):
        made["metadata"] = {"comment": value["comment"]}
    place, after = _position(siblings, name, value)
    siblings.insert(place, made)
    _number(state, made)
    state.moves.append(((), (*above, name)))
    written = {"path": full, "type": type_text(kind), "comment": value.get("comment") or None, "after": after}
    return {**written, "first": bool(value.get("first"))}


def parts_of_new(state: MetadataState, text: str) -> list[str]:
    """A new column's path. Raises CommandRefused for what is no name."""
    if named(state.fields, text) is not None:
        return [text]
    try:
        return name_parts(text)
    except ValueError as error:
        raise refused("PARSE_SYNTAX_ERROR", "42601", f"{error}.", place=text) from None


def _siblings(state: MetadataState, parts: Sequence[str], text: str) -> tuple[list[Field], tuple[str, ...]]:
    if len(parts) == 1:
        return state.fields, ()
    parent = find_parts(state.fields, parts[:-1], text)
    kind = parent.type
    if not is_struct(kind) or not isinstance(kind, dict):
        raise not_a_struct(text, parent)
    return kind["fields"], parent.path


def _type(text: str) -> DataType:
    try:
        return parse_type(text)
    except WrongType as wrong:
        raise CommandRefused(Refusal("invalid", str(wrong), place=text, engine=wrong.engine)) from None


def _exists(act: str, name: str) -> CommandRefused:
    text = f"Cannot {act} column, because {name} already exists: Spark doesn’t tell upper from lower case."
    return refused("FIELD_ALREADY_EXISTS", "42710", text, place=name)


def _check_names(state: MetadataState, names: Sequence[str]) -> None:
    for name in names:
        if not name:
            raise refused(None, None, "A column’s name can’t be empty.")
        if not state.mapped and is_invalid(name):
            text = f"Found invalid character(s) among ' ,;{{}}()\\n\\t=' in the column names of your schema. Invalid column names: {name}."
            remedy = f"Choose another name, or set {MAPPING_MODE} to name first."
            raise refused("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", "42K05", text, remedy, name)
        if not name.isprintable():
            text = "A new name holds no characters that can’t be seen or that turn the reading direction."
            raise refused(None, None, text, "Choose another name.", name)


def _check_reserved(name: str, above: Sequence[str]) -> None:
    """The change feed's columns stand beside the table's own; a field inside a struct may have such a name."""
    if not above and name.lower() in RESERVED:
        text = f"The name {name} is reserved: the change feed has a column of this name, and couldn’t be read or switched on."
        raise refused("DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS", "42711", text, "Choose another name.", name)


def _check_duplicates(kind: DataType, name: str) -> None:
    for each in [{"name": name, "type": kind}, *all_fields(kind)]:
        inner = each["type"].get("fields", ()) if isinstance(each["type"], Mapping) else ()
        names = [item["name"].lower() for item in inner]
        if len(set(names)) < len(names):
            twice = next(item for item in names if names.count(item) > 1)
            text = f"Found duplicate column(s): {each['name']}.{twice}. The duplicate was found while adding columns."
            raise refused("DELTA_DUPLICATE_COLUMNS_FOUND.ADDING_COLUMNS", "42711", text)


def _switch_on(state: MetadataState, features: frozenset[str]) -> None:
    """Raises CommandRefused for features that Delta wants to be asked for first."""
    missing = features - state.protocol.features
    if by_hand := sorted(missing & BY_HAND):
        text = (
            f"Your table schema requires manually enablement of the following table feature(s): {', '.join(by_hand)}."
        )
        remedy = f"Set the property delta.feature.{by_hand[0]} to supported first."
        raise refused("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", "42000", text, remedy, f"delta.feature.{by_hand[0]}")
    state.protocol = protocol_with(state.protocol, missing)


def _position(siblings: Sequence[Field], name: str, value: Mapping[str, Any]) -> tuple[int, str | None]:
    if value.get("first"):
        return 0, None
    if not value.get("after"):
        return len(siblings), None
    asked = value["after"]
    other = named(siblings, asked) or named(siblings, _bare(asked))
    if other is None:
        known = ", ".join(each["name"] for each in siblings)
        raise refused("FIELD_NOT_FOUND", "42704", f"No such struct field {asked} in {known}.", place=asked)
    return siblings.index(other) + 1, other["name"]


def _bare(text: str) -> str:
    """A single name without its backquotes."""
    try:
        parts = name_parts(text)
    except ValueError:
        return text
    return parts[0] if len(parts) == 1 else text


def _number(state: MetadataState, made: Field) -> None:
    """Column mapping numbers new columns, parents first; their names in data files are random, so nobody knows them before."""
    if not state.mapped:
        return
    top = highest_id(state.configuration)
    if top is None:
        said = state.configuration[HIGHEST_ID][:60]
        raise refused(
            None, None, f"The table’s {HIGHEST_ID} is “{said}”, which is no number: Delta can’t number new columns."
        )
    for number, each in enumerate([made, *all_fields(made["type"])], top + 1):
        each["metadata"] = {**each["metadata"], "delta.columnMapping.id": number}
        state.configuration[HIGHEST_ID] = str(number)


def rename(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Renames a column or a nested field."""
    spot, new = find(state, value["path"]), _new_name(value["to"])
    siblings = spot.siblings
    if siblings is None:
        text = f"Field name {spot.name} is invalid: an array’s elements and a map’s keys and values have no name of their own."
        raise refused("INVALID_FIELD_NAME", "42000", text, place=spot.name)
    if not state.mapped:
        text = f"Column rename is not supported for your Delta table. {ADVICE}"
        raise refused("DELTA_UNSUPPORTED_RENAME_COLUMN", "0AKDC", text, place=MAPPING_MODE)
    other = named(siblings, new)
    if other is not None and (other is not spot.owner or other["name"] == new):
        raise _exists("rename", written_name([*spot.path[:-1], new]))
    _check_reserved(new, spot.path[:-1])
    _check_names(state, [new])
    refuse_dependents(state, spot.path, spot.name)
    path = (*spot.path[:-1], new)
    _follow(state, spot.path, path)
    spot.owner["name"] = new
    state.moves.append((spot.path, path))
    return {"path": spot.name, "to": written_name([new])}


def _new_name(text: str) -> str:
    """A new name, which is one part: `a.b` without backquotes would be taken for a place, and a rename moves nothing."""
    name = _bare(text)
    if name == text and {".", "`"} & set(text):
        remedy = "Give the last part alone; put a name with dots in backquotes."
        raise refused("PARSE_SYNTAX_ERROR", "42601", f"{text} isn’t one part of a name.", remedy, text)
    return name


def _own_field(spot: Spot) -> list[Field]:
    if spot.siblings is None:
        text = f"Can only drop nested columns from StructType: {spot.name} has no name of its own."
        raise refused("DELTA_UNSUPPORTED_DROP_NESTED_COLUMN_FROM_NON_STRUCT_TYPE", "0AKDC", text, place=spot.name)
    return spot.siblings


def _follow(state: MetadataState, old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """Partition columns, clustering columns and the columns with statistics follow a rename."""
    if len(old) == 1:
        state.partitions = [new[0] if name == old[0] else name for name in state.partitions]
    if state.clustering is not None:
        state.clustering = [_moved(path, old, new) for path in state.clustering]
    if listed := listed_columns(state.configuration.get(STATS_COLUMNS, "")):
        _list_anew(state, [_spelled(path, old, new) for path in listed])


def _list_anew(state: MetadataState, paths: Sequence[tuple[str, ...]]) -> None:
    state.configuration[STATS_COLUMNS] = ",".join(map(written_name, paths))


def _spelled(path: tuple[str, ...], old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """In that list a column is one that is spelled as in the schema (`StatisticsCollection.renameDeltaStatsColumn`)."""
    return (*new, *path[len(old) :]) if path[: len(old)] == old else path


def _moved(path: tuple[str, ...], old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return (*new, *path[len(old) :]) if lower(path[: len(old)]) == lower(old) else path


def drop(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Drops a column or a nested field; its values stay in the data files."""
    spot = find(state, value["path"])
    if not state.mapped:
        text = f"DROP COLUMN is not supported for your Delta table. {ADVICE}"
        raise refused("DELTA_UNSUPPORTED_DROP_COLUMN", "0AKDC", text, place=MAPPING_MODE)
    siblings = _own_field(spot)
    if len(spot.path) == 1 and lower(spot.path)[0] in lower(state.partitions):
        text = f"Dropping partition columns ({spot.name}) is not allowed."
        raise refused("DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN", "0AKDC", text, place=spot.name)
    # Delta itself looks at whole names only: after the drop of a struct around a clustering column it can’t change the table any more.
    if clustered := [
        path for path in state.clustering or () if overlap(path, spot.path) and len(path) >= len(spot.path)
    ]:
        text = f"Dropping clustering columns ({', '.join(map(written_name, clustered))}) is not allowed."
        raise refused(
            "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", "0AKDC", text, "Change the clustering first.", spot.name
        )
    if len(siblings) == 1:
        text = f"Cannot drop column from a schema with a single column: {spot.name}."
        raise refused("DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA", "0AKDC", text, place=spot.name)
    refuse_dependents(state, spot.path, spot.name)
    siblings.remove(spot.owner)
    if listed := listed_columns(state.configuration.get(STATS_COLUMNS, "")):
        _list_anew(state, [path for path in listed if path[: len(spot.path)] != tuple(spot.path)])
    return {"path": spot.name}


def widen(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Widens a column's type, an array's elements', a map's keys' or values'."""
    spot, kind = find(state, value["path"]), _type(value["type"])
    before = spot.type
    if type_text(kind) == type_text(before):
        raise refused(
            None, None, f"{spot.name} is {described(before)} already: there is nothing to change.", place=spot.name
        )
    allowed = state.configuration.get(WIDENING, "").lower() == "true"
    if not allowed or not can_widen(before, kind):
        text = f"ALTER TABLE CHANGE COLUMN is not supported for changing column {spot.name} from {described(before)} to {described(kind)}."
        widens = can_widen(before, kind)
        remedy = f"Set {WIDENING} to true first." if widens else "Delta changes a type only to a wider one of its list."
        place = WIDENING if widens else spot.name
        raise refused("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "0AKDC", text, remedy, place)
    _refuse_computed(spot, kind)
    _switch_on(state, features_of(kind))
    refuse_dependents(state, spot.path, spot.name)
    spot.type = kind
    change = {"toType": kind, "fromType": before}
    if spot.below:
        change["fieldPath"] = ".".join(spot.below)
    metadata = spot.owner["metadata"]
    spot.owner["metadata"] = {**metadata, TYPE_CHANGES: [*metadata.get(TYPE_CHANGES, ()), change]}
    return {"path": spot.name, "type": type_text(kind)}


def _refuse_computed(spot: Spot, kind: DataType) -> None:
    """Delta fills in identity and generated columns itself, in the type that they were made with."""
    _refuse_identity(spot)
    if GENERATED in spot.owner["metadata"]:
        text = (
            f"The expression type of the generated column {spot.name} is {described(spot.type)},"
            f" but the column type is {described(kind)}"
        )
        raise refused("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", "42K09", text, place=spot.name)


def _refuse_identity(spot: Spot) -> None:
    if any(key.startswith(IDENTITY) for key in spot.owner["metadata"]):
        text = "ALTER TABLE ALTER COLUMN is not supported for IDENTITY columns."
        raise refused("DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED", "429BQ", text, place=spot.name)


def comment(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Comments a column. An empty text stays as an empty comment: Delta removes none."""
    spot = find(state, value["path"])
    if spot.siblings is None:
        text = f"Can't add a comment to {spot.name}. Adding a comment to a map key/value or array element is not supported."
        raise refused("DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY", "0AKDC", text, place=spot.name)
    spot.owner["metadata"] = {**spot.owner["metadata"], "comment": value["text"]}
    return {"path": spot.name, "text": value["text"]}


def nullable(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Lets a column be NULL."""
    spot = find(state, value["path"])
    if spot.siblings is None:
        text = f"ALTER TABLE CHANGE COLUMN is not supported for changing column {spot.name}: it has no nullability of its own."
        raise refused("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "0AKDC", text, place=spot.name)
    if spot.owner["nullable"] is not False:
        raise refused(None, None, f"{spot.name} can be NULL already: there is nothing to change.", place=spot.name)
    _refuse_identity(spot)
    spot.owner["nullable"] = True
    return {"path": spot.name}


def not_null(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Raises CommandRefused: Delta makes no column NOT NULL."""
    name = find(state, value["path"]).name
    text = f"Cannot change nullable column to non-nullable: {name}."
    remedy = f"Add a CHECK constraint instead: {name} IS NOT NULL."
    raise refused("DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP", "0AKDC", text, remedy, name)
