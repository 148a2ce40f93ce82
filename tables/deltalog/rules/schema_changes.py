"""Two schemas compared: what was added, removed, renamed, moved or changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tables.deltalog.rules.schema import Array, Column, Map, Struct, Type, dotted, type_text, walk

_Found = tuple[tuple[str, ...], Column]


class SchemaChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    TYPE = "type"
    NULLABLE = "nullable"
    COMMENT = "comment"
    METADATA = "metadata"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference. `column` is the path in the newer schema (in the older one when it was removed); texts are for reading."""

    kind: SchemaChangeKind
    column: str
    before: str | None
    after: str | None


def compare_schemas(before: Struct, after: Struct) -> tuple[SchemaChange, ...]:
    """Differences in the newer schema's order, removals last.

    Columns are matched by their column mapping id where both have one, so that a rename is a rename; else by path, whatever the case.
    """
    old, new = list(walk(before)), list(walk(after))
    pairs, removed = _match(old, new)
    added = {path for path, _ in new if path not in pairs}
    changes = [
        change
        for path, column in new
        if not _below_any(path, added)
        for change in _changes(path, column, pairs.get(path))
    ]
    gone = {path for path, _ in removed}
    changes += [
        SchemaChange(SchemaChangeKind.REMOVED, dotted(path), type_text(column.type), None)
        for path, column in removed
        if not _below_any(path, gone)
    ]
    return (*changes, *_moved(pairs, old, new))


def _below_any(path: tuple[str, ...], parents: set[tuple[str, ...]]) -> bool:
    """True for a part of a column that came or went as a whole: the whole is said once."""
    return any(path[:length] in parents for length in range(1, len(path)))


def _match(old: list[_Found], new: list[_Found]) -> tuple[dict[tuple[str, ...], _Found], list[_Found]]:
    ids = {column.mapping_id: (path, column) for path, column in old if column.mapping_id is not None}
    paths = {_folded(path): (path, column) for path, column in old}
    pairs: dict[tuple[str, ...], _Found] = {}
    used: set[tuple[str, ...]] = set()
    for path, column in new:
        former = ids.get(column.mapping_id) if column.mapping_id is not None else None
        if former is None:
            former = paths.get(_folded(path))
            if former and former[1].mapping_id is not None and column.mapping_id is not None:
                former = None  # another column that took the name
        if former and former[0] not in used:
            pairs[path] = former
            used.add(former[0])
    return pairs, [item for item in old if item[0] not in used]


def _folded(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in path)


def _changes(path: tuple[str, ...], column: Column, pair: _Found | None) -> list[SchemaChange]:
    name = dotted(path)
    if pair is None:
        return [SchemaChange(SchemaChangeKind.ADDED, name, None, type_text(column.type))]
    old_path, old = pair
    changes: list[SchemaChange] = []
    if old.name != column.name:
        changes.append(SchemaChange(SchemaChangeKind.RENAMED, name, dotted(old_path), name))
    if (before := _own_type(old.type)) != (after := _own_type(column.type)):
        changes.append(SchemaChange(SchemaChangeKind.TYPE, name, before, after))
    if old.nullable != column.nullable:
        changes.append(SchemaChange(SchemaChangeKind.NULLABLE, name, _null(old), _null(column)))
    if old.comment != column.comment:
        changes.append(SchemaChange(SchemaChangeKind.COMMENT, name, old.comment, column.comment))
    return changes + _metadata_changes(name, old, column)


def _null(column: Column) -> str:
    return "nullable" if column.nullable else "not null"


def _own_type(kind: Type) -> str:
    """The type without the columns below it: those are compared by themselves."""
    if isinstance(kind, Struct):
        return "struct"
    if isinstance(kind, Array):
        return f"array<{_own_type(kind.element)}{'' if kind.contains_null else ' not null'}>"
    if isinstance(kind, Map):
        return f"map<{_own_type(kind.key)},{_own_type(kind.value)}{'' if kind.value_contains_null else ' not null'}>"
    return type_text(kind)


def _metadata_changes(name: str, old: Column, new: Column) -> list[SchemaChange]:
    changes = []
    for key in sorted({*old.metadata, *new.metadata} - {"comment"}):
        before, after = old.metadata.get(key), new.metadata.get(key)
        if before != after:
            changes.append(SchemaChange(SchemaChangeKind.METADATA, name, _said(key, before), _said(key, after)))
    return changes


def _said(key: str, value: object) -> str | None:
    return None if value is None else f"{key} = {value}"


def _moved(pairs: dict[tuple[str, ...], _Found], old: list[_Found], new: list[_Found]) -> tuple[SchemaChange, ...]:
    """Says once that the columns that both have come in another order."""
    kept = [path for path, _ in new if path in pairs and len(path) == 1]
    now = [pairs[path][0] for path in kept]
    used = set(now)
    then = [path for path, _ in old if path in used]
    if now == then:
        return ()
    return (SchemaChange(SchemaChangeKind.ORDER, "", ", ".join(map(dotted, then)), ", ".join(map(dotted, kept))),)
