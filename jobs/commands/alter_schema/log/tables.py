"""What a change of constraints, clustering or the table's comment makes of its metadata, or why Delta would refuse it.

Rules: Delta 4.4.0, `alterDeltaTableCommands.scala`, `Constraints` and `ClusteredTableUtils`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.commands.alter_schema.log.dependents import predicates_schema
from jobs.commands.alter_schema.log.state import MetadataState, described, find, is_struct, leaves, lower, refused
from jobs.commands.alter_schema.rules import CONSTRAINTS, written_name
from jobs.domain.delta.data_types import DataType
from jobs.domain.delta.protocols import protocol_with
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import from_json, to_json
from jobs.domain.predicates.tree import Comparison, Literal, Node, Not, columns, walk
from jobs.predicates.reading import parse
from tables.deltalog.rules.schema import parse_schema
from tables.rules.column_statistics import Retained, retained

MOST_CLUSTERING = 4
NULL = Literal("void", None)
MOST_NAME = 255
VARIABLE = "${"
INTERNAL = "__CHAR_VARCHAR_STRING_LENGTH_CHECK__"  # what Delta calls the lengths of char and varchar
_UNBOUNDED = ("boolean", "binary", "variant")


def add_constraint(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a CHECK constraint. Its expression is one of Levee's predicates, and is stored as Levee prints it."""
    name = value["name"].strip()
    if len(name) > MOST_NAME or not name.isprintable():
        raise refused(None, None, f"A constraint’s name has at most {MOST_NAME} characters that can be printed.")
    if name == INTERNAL:
        text = f"Cannot use {name} as the name of a CHECK constraint. This name is reserved."
        raise refused("DELTA_INVALID_CONSTRAINT_NAME", "42939", text, "Choose another name.", name)
    old = state.constraints.get(name.lower())
    if old is not None:
        text = f"Constraint '{name}' already exists. Please delete the old constraint first. Old constraint: {old}"
        raise refused("DELTA_CONSTRAINT_ALREADY_EXISTS", "42710", text, place=name)
    tree = parse(value["expression"], predicates_schema(state))
    expression = _stored_text(tree)
    state.configuration[CONSTRAINTS + name.lower()] = expression
    state.protocol = protocol_with(state.protocol, ["checkConstraints"])
    return {"name": name, "expression": expression, "tree": to_json(tree), "counted": _before(to_json(tree), state)}


def _stored_text(tree: Node) -> str:
    """The text that Delta stores for every later writer to parse: without `${…}`, for which their Spark puts its own variables in."""
    for path in columns(tree):
        if any(VARIABLE in part for part in path):
            name = written_name(path)
            text = f"A constraint can’t name the column {name}: Spark would replace what follows {VARIABLE} in it."
            raise refused(None, None, text, "Rename the column first.", name)
    return to_text(tree).replace(VARIABLE, "\\u0024{")


def _before(tree: Any, state: MetadataState) -> Any:
    """A stored tree in the names that the table has before all changes: a column that a change adds is NULL in every row."""
    if isinstance(tree, list):
        return [_before(item, state) for item in tree]
    if not isinstance(tree, Mapping):
        return tree
    if tree.get("node") != "column":
        return {name: _before(item, state) for name, item in tree.items()}
    path = state.path_before(tuple(tree["path"]))
    return to_json(NULL) if path is None else {"node": "column", "path": list(path)}


def violating(counted: Mapping[str, Any]) -> str | None:
    """The predicate of the rows that violate a constraint: where it is false or NULL, as Delta counts them.

    None for one that names a column which a change adds: every row has NULL there, and a predicate can't name it yet.
    """
    tree = from_json(counted)
    return None if NULL in walk(tree) else to_text(Not(Comparison("<=>", tree, Literal("boolean", True))))


def drop_constraint(state: MetadataState, value: Mapping[str, Any]) -> dict[str, Any]:
    """Drops a CHECK constraint."""
    name = value["name"].strip()
    if name.lower() not in state.constraints:
        known = ", ".join(state.constraints) or "none"
        text = f"Cannot drop nonexistent constraint {name}. The table’s constraints: {known}."
        raise refused("DELTA_CONSTRAINT_DOES_NOT_EXIST", "42704", text, place=name)
    del state.configuration[CONSTRAINTS + name.lower()]
    return {"name": name}


def cluster_by(state: MetadataState, names: Sequence[str]) -> list[str]:
    """Clusters the table by other columns, or by none. New data alone follows, and OPTIMIZE."""
    if state.partitions:
        text = "ALTER TABLE CLUSTER BY cannot be applied to a partitioned table."
        raise refused("DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED", "42000", text)
    if not names and not state.clustering:
        raise refused(None, None, "The table isn’t clustered by any column: there is nothing to change.")
    if len(names) > MOST_CLUSTERING:
        text = f"CLUSTER BY supports up to {MOST_CLUSTERING} clustering columns, but the table has {len(names)} clustering columns."
        raise refused("DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS", "54000", text, "Remove the extra clustering columns.")
    paths = [_clustering_column(state, name) for name in names]
    _refuse_repeated(paths)
    _refuse_without_bounds(state, paths)
    state.clustering = paths
    state.protocol = protocol_with(state.protocol, ["clustering"])
    return [written_name(path) for path in paths]


def _clustering_column(state: MetadataState, name: str) -> tuple[str, ...]:
    try:
        spot = find(state, name)
    except CommandRefused:
        raise _not_found(state, name) from None
    # Below arrays and maps Delta finds no column to cluster by.
    if spot.siblings is None or not (is_struct(spot.type) or spot.path in dict(leaves(state.fields))):
        raise _not_found(state, name)
    if not _skips(spot.type):
        column = f"{spot.name} : {described(spot.type)}"
        text = f"CLUSTER BY is not supported because the following column(s): {column} don't support data skipping."
        raise refused("DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "0A000", text, place=spot.name)
    return spot.path


def _not_found(state: MetadataState, name: str) -> CommandRefused:
    known = ", ".join(each["name"] for each in state.fields)
    return refused("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "42703", f"Couldn't find column {name} in: {known}", place=name)


def _skips(kind: DataType) -> bool:
    """Whether Delta keeps a least and a greatest value of this type (`SkippingEligibleDataType`)."""
    return isinstance(kind, str) and kind not in _UNBOUNDED


def _refuse_repeated(paths: Sequence[tuple[str, ...]]) -> None:
    seen = [lower(path) for path in paths]
    twice = next((path for path in seen if seen.count(path) > 1), None)
    if twice is not None:
        text = f"Found duplicate column(s): {written_name(twice)}. The duplicate was found in CLUSTER BY."
        raise refused("DELTA_DUPLICATE_COLUMNS_FOUND.CLUSTER_BY", "42711", text)


def _refuse_without_bounds(state: MetadataState, paths: Sequence[tuple[str, ...]]) -> None:
    kept = retained(parse_schema(state.schema_json), state.partitions, state.configuration)
    without = [
        written_name(path)
        for path, _ in leaves(state.fields)
        if path in paths and kept.get(path) is not Retained.BOUNDS
    ]
    if without:
        text = (
            "Clustering requires clustering columns to have stats. Couldn't find clustering column(s)"
            f" '{', '.join(without)}' in stats schema."
        )
        raise refused("DELTA_CLUSTERING_COLUMN_MISSING_STATS", "22000", text, place=without[0])


def table_comment(state: MetadataState, text: str) -> str:
    """Sets the table's comment."""
    state.comment = text
    return text
