"""Which types a table may have while it keeps the rules of Iceberg's readers (`delta.enableIcebergCompatV1`, V2, V3).

Source: Delta 4.4.0, `IcebergCompat.scala` (`CheckNoListMapNullType`, `CheckTypeInV2AllowList`, `CheckTypeInV3AllowList`,
`CheckTypeWideningSupported`), which looks at the whole schema in every commit [run].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tables.deltalog.rules.schema import Array, Map, Primitive, Struct, Type, types_in, walk

_PLAIN = frozenset((
    "byte", "short", "integer", "long", "float", "double", "string", "binary", "boolean", "timestamp", "timestamp_ntz", "date",
))  # fmt: skip

_WHOLE = ("byte", "short", "integer", "long")
_DECIMAL = re.compile(r"decimal\(\d+,\s*(-?\d+)\)")
TYPE_CHANGES = "delta.typeChanges"


def compat_version(configuration: Mapping[str, str | None]) -> int | None:
    """The version whose rules the table keeps; None without one."""
    for number in (1, 2, 3):
        if (configuration.get(f"delta.enableIcebergCompatV{number}") or "").lower() == "true":
            return number
    return None


def incompatible_type(struct: Struct, version: int) -> Type | None:
    """The first type in the schema, parents first, that the version doesn't have; None if it has all."""
    allows = _ALLOWS[version]
    return next((kind for column in struct.columns for kind in types_in(column.type) if not allows(kind)), None)


def incompatible_change(struct: Struct) -> tuple[str, str, str] | None:
    """The first column whose type was widened in a way that Iceberg has not, whatever the version: its path, the type before and after.

    Iceberg widens whole numbers, float to double, and a decimal by digits before its point alone.
    """
    for path, column in walk(struct):
        changes = column.metadata.get(TYPE_CHANGES)
        for change in changes if isinstance(changes, list) else []:
            old, new = str(change.get("fromType")), str(change.get("toType"))
            if not _widens(old, new):
                return ".".join(path), old, new
    return None


def _widens(old: str, new: str) -> bool:
    if (old in _WHOLE and new in _WHOLE) or (old, new) == ("float", "double"):
        return True
    before, after = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    return before is not None and after is not None and before[1] == after[1]


def _first(kind: Type) -> bool:
    return not isinstance(kind, Array | Map) and kind != Primitive("void")


def _second(kind: Type) -> bool:
    return not isinstance(kind, Primitive) or kind.name in _PLAIN or kind.name.startswith("decimal")


def _third(kind: Type) -> bool:
    return _second(kind) or kind == Primitive("variant")


_ALLOWS: Mapping[int, Callable[[Type], bool]] = {1: _first, 2: _second, 3: _third}
