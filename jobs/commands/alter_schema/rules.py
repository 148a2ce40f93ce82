"""A change of a table's schema as a value: its kinds of changes, each in words, and what follows from them.

Rules: Delta 4.4.0, `alterDeltaTableCommands.scala`; each change is one commit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jobs.domain.consequences import Consequence, said
from jobs.domain.delta.feature_support import Cells, Refused
from jobs.domain.storable import storable

Change = Mapping[str, Any]
MOST_CHANGES = 50
# Each kind's fields: whether they must be given.
KINDS: Mapping[str, Mapping[str, bool]] = {
    "add": {"path": True, "type": True, "comment": False, "after": False, "first": False},
    "rename": {"path": True, "to": True},
    "drop": {"path": True},
    "widen": {"path": True, "type": True},
    "comment": {"path": True, "text": True},
    "nullable": {"path": True},
    "not_null": {"path": True},
    "add_constraint": {"name": True, "expression": True},
    "drop_constraint": {"name": True},
}
# What nobody can take back by asking for the opposite.
IRREVERSIBLE = frozenset({"drop", "widen", "nullable"})
MAPPED = frozenset({"rename", "drop"})  # they need column mapping
FEED_IN_PARTS = (
    "The change feed can’t be read across a version that renames, drops or widens a column:"
    " read it up to that version, and from it on."
)
# Without column mapping Delta reads the feed of any versions by the newest schema [run on 4.4.0].
FEED_LOST = (
    "The change feed of the versions before a type is wider can’t be read afterwards: read it up to there before."
)
CONSTRAINTS = "delta.constraints."
MAPPING_MODE = "delta.columnMapping.mode"
# Random, counted by each write, or the version of the commit, so no part of what people approve.
UNPREDICTED = ("delta.columnMapping.physicalName", "delta.identity.highWaterMark", "tableVersion")

_PART = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


REFUSED: Cells = {
    "checkConstraints": (
        Refused(
            "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE",
            "to drop, rename or widen a column that a CHECK constraint names",
        ),
    ),
    "generatedColumns": (
        Refused(
            "DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE",
            "to drop, rename or widen a column that a generated column is computed from",
        ),
        Refused("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", "to widen a generated column"),
    ),
    "identityColumns": (
        Refused("DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED", "to widen an identity column, or let it be NULL"),
    ),
    "clustering": (Refused("DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN", "to drop a clustering column"),),
    **{
        f"icebergCompatV{number}": (
            Refused(
                "DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_DATA_TYPE",
                f"to add a column of type {kinds}, while `delta.enableIcebergCompatV{number}` is true",
            ),
            Refused(
                "DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_TYPE_WIDENING",
                "to widen a column as Iceberg can’t (a whole number to double or decimal, a decimal’s scale), while that is true",
            ),
        )
        for number, kinds in ((1, "array, map or void"), (2, "variant or void"), (3, "void"))
    },
    "variantType": (
        Refused("DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", "to cluster by a column of type variant"),
    ),
}


@dataclass(frozen=True, slots=True)
class AlterSchema:
    """Changes of a Delta table's schema, constraints, clustering and comment, one commit each, in order.

    A change is a mapping with one key, its kind: `{"add": {"path": "a.b", "type": "bigint"}}`, `{"cluster_by": ["n"]}`,
    `{"table_comment": "…"}`. Stored, its names are spelled as in the schema and a constraint also has its expression's `tree`.
    `table` is the catalog's id and `path` its canonical location.
    """

    kind: ClassVar[str] = "alter_schema"
    schema_version: ClassVar[int] = 1

    table: str
    changes: Sequence[Change]
    path: str = ""


def opened(change: Change) -> tuple[str, Any]:
    """A change's kind and what it says."""
    [(kind, value)] = change.items()
    return kind, value


def name_parts(text: str) -> list[str]:
    """A column's name taken apart at its dots, those in backticks left alone. Raises ValueError for what is no name."""
    parts, place = [], 0
    while match := _PART.match(text, place):
        parts.append(match[1].replace("``", "`") if match[1] else match[2])
        place = match.end() + 1
        if match.end() == len(text):
            return parts
        if text[match.end()] != ".":
            break
    raise ValueError(f"{text} isn’t a column’s name")


def written_name(path: Sequence[str]) -> str:
    """The name of a column or a nested field, as `name_parts` reads it back."""
    return ".".join(f"`{part.replace('`', '``')}`" if {"`", "."} & set(part) else part for part in path)


def words_of(change: Change) -> str:
    """What a change does, in a sentence without its end."""
    kind, value = opened(change)
    match kind:
        case "add":
            return f"Add the column {value['path']} of type {value['type']}{_place(value)}{_commented(value)}"
        case "rename":
            return f"Rename the column {value['path']} to {value['to']}"
        case "drop":
            return f"Drop the column {value['path']}"
        case "widen":
            return f"Widen the type of {value['path']} to {value['type']}"
        case "comment":
            return (
                f"Comment {value['path']} with “{value['text']}”"
                if value["text"]
                else f"Empty the comment of {value['path']}"
            )
        case "nullable":
            return f"Allow NULL in {value['path']}"
        case "not_null":
            return f"Refuse NULL in {value['path']}"
    return _table_words(kind, value)


def _table_words(kind: str, value: Any) -> str:
    match kind:
        case "add_constraint":
            return f"Add the CHECK constraint {value['name']}: {value['expression']}"
        case "drop_constraint":
            return f"Drop the CHECK constraint {value['name']}"
        case "cluster_by":
            return f"Cluster the table by {', '.join(value)}" if value else "Remove the table’s clustering"
        case "table_comment":
            return f"Comment the table with “{value}”" if value else "Empty the table’s comment"
    raise ValueError(f"{kind} is no change of a schema")


def _place(value: Mapping[str, Any]) -> str:
    if value.get("first"):
        return ", first of its level"
    return f", after {value['after']}" if value.get("after") else ""


def _commented(value: Mapping[str, Any]) -> str:
    return f", with the comment “{value['comment']}”" if value.get("comment") else ""


OPERATIONS = {
    "add": "ADD COLUMN", "rename": "RENAME COLUMN", "drop": "DROP COLUMN", "widen": "ALTER COLUMN … TYPE",
    "comment": "ALTER COLUMN … COMMENT",
    "nullable": "ALTER COLUMN … DROP NOT NULL", "not_null": "ALTER COLUMN … SET NOT NULL", "add_constraint": "ADD CONSTRAINT",
    "drop_constraint": "DROP CONSTRAINT", "cluster_by": "CLUSTER BY", "table_comment": "COMMENT ON TABLE",
}  # fmt: skip
"""The statement of Spark's SQL that each kind of change stands for."""


def fault_of(changes: Sequence[Change]) -> str:
    """What is wrong with the changes whatever the table is; empty if nothing."""
    if not changes:
        return "Give at least one change."
    if len(changes) > MOST_CHANGES:
        return f"At most {MOST_CHANGES} changes can be requested together."
    return next(
        (f"Change {number}: {text}" for number, change in enumerate(changes, 1) if (text := _fault(change))), ""
    )


def _fault(change: Change) -> str:
    if len(change) != 1:
        return f"A change has one key, its kind: one of {', '.join((*KINDS, 'cluster_by', 'table_comment'))}."
    fault = _value_fault(*opened(change))
    if not fault and storable(dict(change)) != change:
        return "It holds a character that can’t be stored."
    return fault


def _value_fault(kind: str, value: Any) -> str:
    match kind:
        case "table_comment":
            return "" if isinstance(value, str) else "A comment is a text."
        case "cluster_by":
            texts = (
                isinstance(value, Sequence)
                and not isinstance(value, str)
                and all(isinstance(item, str) for item in value)
            )
            return "" if texts else "The columns to cluster by are a list of names; empty is none."
    return _fields_fault(kind, value)


def _fields_fault(kind: str, value: Any) -> str:
    fields = KINDS.get(kind)
    if fields is None:
        return f"{kind} isn’t a kind of change; there are {', '.join((*KINDS, 'cluster_by', 'table_comment'))}."
    if not isinstance(value, Mapping):
        return f"{kind} takes {', '.join(fields)}."
    unknown = sorted(set(value) - set(fields))
    missing = [name for name, required in fields.items() if required and value.get(name) is None]
    if unknown or missing:
        return f"{kind} takes {', '.join(fields)}; {'unknown: ' + unknown[0] if unknown else 'missing: ' + missing[0]}."
    for name, given in value.items():
        if given is not None and not isinstance(given, bool if name == "first" else str):
            return f"{name} is {'true or false' if name == 'first' else 'a text'}."
    if value.get("first") and value.get("after"):
        return "A column is placed first or after another one, not both."
    empty = [name for name in ("path", "to", "type", "name", "expression") if name in value and not value[name].strip()]
    return f"{empty[0]} is empty." if empty else ""


def schema_digest(schema_json: str | Mapping[str, Any]) -> str:
    """A short digest of a schema without what only the run can know: the random names of new columns in data files."""
    value = json.loads(schema_json) if isinstance(schema_json, str) else schema_json
    text = json.dumps(_predictable(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _predictable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _predictable(item) for key, item in value.items() if key not in UNPREDICTED}
    return [_predictable(item) for item in value] if isinstance(value, list) else value


def irreversible_of(changes: Sequence[Change]) -> list[str]:
    """Sentences on what no opposite change brings back, beside what follows from the protocol."""
    texts = []
    for change in changes:
        kind, value = opened(change)
        if kind == "drop":
            texts.append(
                f"No change brings {value['path']} back: only a restore to a version before it does, with that version’s rows."
            )
        elif kind == "widen":
            texts.append(f"Delta narrows no type: {value['path']} stays {value['type']}.")
        elif kind == "nullable":
            texts.append(f"Delta can’t make {value['path']} NOT NULL again.")
    return texts


def consequences_of(
    changes: Sequence[Change], *, change_feed: bool, mapped: bool, new_constraints: bool
) -> list[Consequence]:
    """What follows from the changes beyond the schema itself."""
    kinds = {opened(change)[0] for change in changes}
    found = [said("rows_unchanged", "No data file is written again: the changes are commits to the log alone.")]
    if len(changes) > 1:
        text = "Each change is a commit of its own, in this order. If one fails, those before it stay, and the job says which."
        found.append(said("several_commits", text))
    if "add" in kinds and not mapped:
        text = f"An added column can’t be dropped again before the table has column mapping ({MAPPING_MODE}), which raises its protocol."
        found.append(said("drop_needs_mapping", text))
    if "drop" in kinds:
        text = "Dropped values stay in the data files, and earlier versions show them, until REORG TABLE … APPLY (PURGE) and then a VACUUM."
        found.append(said("values_stay", text))
    if kinds & (MAPPED | {"widen"}) and change_feed:
        found.append(said("change_feed_ends", FEED_IN_PARTS if mapped else FEED_LOST))
    if kinds & (MAPPED | {"widen"}):
        text = "A streaming read of this table elsewhere stops at such a change, unless it tracks schemas (schemaTrackingLocation)."
        found.append(said("streams_stop", text))
    if new_constraints:
        text = "Spark reads every row to check a new constraint. From then on, every write that violates it fails."
        found.append(said("constraint_checked", text))
    if "cluster_by" in kinds:
        text = "Clustering applies to new data. OPTIMIZE FULL clusters what is there already."
        found.append(said("clustering_later", text))
    return found
