"""Whether a stream can read files of an earlier schema by the newest one.

Source: delta-spark, `DeltaSource.checkReadIncompatibleSchemaChanges` and `SchemaUtils.isReadCompatible`: the newest schema must have each
column under its name, with its type (or a wider one, if the table has the feature for that), and must not forbid NULLs that the earlier
one allowed. A stream with `schemaTrackingLocation` keeps the earlier schema and goes on; without it no round succeeds any more [run on
4.4.0].
"""

from __future__ import annotations

from jobs.domain.delta.data_types import DataType, WrongType, can_widen, parse_type
from tables.deltalog.rules.schema import Struct
from tables.deltalog.rules.schema_changes import SchemaChange, SchemaChangeKind, compare_schemas

NOT_NULL = "not null"
_PARTS = ("elementType", "keyType", "valueType")


def stopping_changes(before: Struct, newest: Struct, *, widening: bool = False) -> tuple[SchemaChange, ...]:
    """The differences for which files of the earlier schema can't be streamed by the newest one; `widening`: the table has the feature."""
    return tuple(change for change in compare_schemas(before, newest) if _stops(change, widening))


def _stops(change: SchemaChange, widening: bool) -> bool:
    match change.kind:
        case SchemaChangeKind.REMOVED | SchemaChangeKind.RENAMED:
            return True
        case SchemaChangeKind.NULLABLE:
            return change.after == NOT_NULL
        case SchemaChangeKind.TYPE:
            return not _reads(change.before or "", change.after or "", widening)
        case _:
            return False


def _reads(before: str, after: str, widening: bool) -> bool:
    """Whether the later type reads the earlier one in each part, whatever of its collections may be NULL now."""
    if f" {NOT_NULL}" in after and after != before:
        return False
    return holds(after, before.replace(f" {NOT_NULL}", ""), widening=widening)


def holds(type_: str, other: str, *, widening: bool = True) -> bool:
    """Whether a type is as wide as another one, in each part; without `widening` they must be the same."""
    try:
        return _is_as_wide(parse_type(other), parse_type(type_), widening)
    except WrongType:
        return False


def _is_as_wide(narrow: DataType, wide: DataType, widening: bool) -> bool:
    if isinstance(narrow, str) or isinstance(wide, str):
        return narrow == wide or (widening and can_widen(narrow, wide))
    same_kind = narrow["type"] == wide["type"]
    return same_kind and all(_is_as_wide(narrow[part], wide[part], widening) for part in _PARTS if part in narrow)
