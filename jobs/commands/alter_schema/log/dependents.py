"""The CHECK constraints and generated columns that name a column: Delta refuses to drop, rename or widen it while they do.

Rules: Delta 4.4.0, `SchemaUtils.findDependentConstraints` and `findDependentGeneratedColumns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from jobs.commands.alter_schema.log.state import MetadataState, all_fields, overlap, refused
from jobs.commands.alter_schema.rules import name_parts
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import columns
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.rules.schema import GENERATED, parse_schema

_PART = r"(?:`(?:[^`]|``)+`|\b[^\W\d]\w*+)"
# A word before a bracket is a function's name.
_NAME = re.compile(rf"{_PART}(?:\s*\.\s*{_PART})*+(?!\s*\()")
_TEXT = re.compile(
    r"(?:\b(?:DATE|TIMESTAMP\w*|INTERVAL|X)\s*)?(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.IGNORECASE | re.DOTALL
)
_TYPE = re.compile(r"\bAS\s+\w+", re.IGNORECASE)


def refuse_dependents(state: MetadataState, path: Sequence[str], name: str) -> None:
    """Raises CommandRefused with Delta's condition if something else names the column."""
    checks = {f"delta.constraints.{each}": text for each, text in state.constraints.items()}
    made = {
        each["name"]: str(each["metadata"][GENERATED])
        for each in all_fields(state.schema)
        if GENERATED in each["metadata"]
    }
    if not checks and not made:
        return
    schema = predicates_schema(state)
    if found := _naming(checks, schema, path):
        text = f"Cannot alter column {name} because this column is referenced by the following check constraint(s): {found}"
        remedy = "Drop the constraint first: a change before this one."
        raise refused("DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE", "42K09", text, remedy)
    if found := _naming(made, schema, path):
        text = f"Cannot alter column {name} because this column is referenced by the following generated column(s): {found}"
        remedy = "Drop the generated column first."
        raise refused("DELTA_GENERATED_COLUMNS_DEPENDENT_COLUMN_CHANGE", "42K09", text, remedy)


def _naming(expressions: Mapping[str, str], schema: Schema, path: Sequence[str]) -> str:
    """Those of the expressions that name the column, in words."""
    return "; ".join(f"{name} -> {text}" for name, text in expressions.items() if _names(text, schema, path))


def predicates_schema(state: MetadataState) -> Schema:
    """The columns that a constraint may name."""
    return schema_of(parse_schema(state.schema_json))


def _names(text: str, schema: Schema, path: Sequence[str]) -> bool:
    """Whether an expression reads the column, a field in it, or what it is a field of."""
    return any(overlap(each, path) for each in _read_by(text, schema))


def _read_by(text: str, schema: Schema) -> Iterable[Sequence[str]]:
    """The columns that an expression reads; of one that Levee can't read, every name that could be a column's."""
    for condition in (text, f"({text}) IS NULL"):  # a generated column's expression is no condition
        try:
            return columns(parse(condition, schema))
        except CommandRefused:
            continue
    plain = _TYPE.sub("", _TEXT.sub("", text))
    return [[name_parts(part)[0] for part in re.findall(_PART, match[0])] for match in _NAME.finditer(plain)]
