"""Which columns of two versions are the same: by their ids under column mapping, else by name; and how both versions are read with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.domain.delta.data_types import can_widen
from tables.deltalog.rules.schema import Array, Column, Map, Primitive, Struct, Type, dotted

Path = tuple[str, ...]


class Reading(StrEnum):
    """How the older version's files are read."""

    OWN = "own"  # with their own schema: it is the newer version's as well, but for names of columns
    NEWER = "newer"  # with the newer version's schema, as Delta itself reads those of them that are still live
    COMMON = (
        "common"  # with their own schema, of which only the columns are compared that the newer version has unchanged
    )


@dataclass(frozen=True, slots=True)
class Versions:
    """What one version's metadata says: its columns, and the physical names of its partition columns."""

    struct: Struct
    partitions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Pairing:
    """`pairs` are the top-level columns that are compared, by their names in the older and in the newer version.

    `added` are in the newer version only, `removed` in the older one only, `changed` are in both and can't be compared, since their types
    differ; paths are dotted. With `Reading.NEWER` an added column counts as NULL in the older version; with `Reading.COMMON` each
    top-level column of both versions is in `pairs` or in `changed`.
    """

    reading: Reading
    pairs: tuple[tuple[str, str], ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(slots=True)
class _Differences:
    added: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    changed: list[Path] = field(default_factory=list)  # of a type that can't be read as the other
    widened: list[Path] = field(default_factory=list)
    renamed: list[Path] = field(default_factory=list)  # below the top, where a name is a part of the type
    moved: bool = False  # stored under another name in the files, or by other partition columns

    @property
    def is_another_type(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.widened or self.renamed)


def paired(before: Versions, after: Versions, *, by_newer: bool = True) -> Pairing:
    """How the columns of an older and a newer version belong together; `by_newer` says whether the newer one can read the older's files."""
    found = _Differences(moved=list(before.partitions) != list(after.partitions))
    matched = list(_matched(before.struct, after.struct))
    for old, new in matched:
        _compare(old, new, (), found)
    added, removed, changed = (tuple(map(dotted, paths)) for paths in (found.added, found.removed, found.changed))
    if not (found.moved or found.is_another_type):
        return Pairing(Reading.OWN, tuple((old.name, new.name) for old, new in matched if old and new))
    if by_newer and not (found.moved or found.changed):
        return Pairing(
            Reading.NEWER, tuple((column.name, column.name) for column in after.struct.columns), added, removed
        )
    both = [(old, new) for old, new in matched if old and new]
    common = [(old, new) for old, new in both if _is_same(old.type, new.type)]
    pairs = tuple((old.name, new.name) for old, new in common)
    compared = {name for _, name in pairs}
    dropped = [dotted((new.name,)) for _, new in both if new.name not in compared]
    return Pairing(Reading.COMMON, pairs, added, removed, tuple(dict.fromkeys((*changed, *dropped))))


def _is_same(old: Type, new: Type) -> bool:
    """Whether both have one type, with the same names in it: their values can be compared as they are read."""
    found = _Differences()
    _compare_types(old, new, ("it",), found)  # below the top, where names count
    return not found.is_another_type


def _matched(before: Struct, after: Struct) -> Iterator[tuple[Column | None, Column | None]]:
    """Pairs in the newer struct's order, then what only the older one has."""
    ids = {column.mapping_id: column for column in before.columns if column.mapping_id is not None}
    used: set[str] = set()
    for new in after.columns:
        old = ids.get(new.mapping_id) if new.mapping_id is not None else None
        if old is None:
            # Without ids, the older version's names are those in its files, whatever a column has been named since.
            named = before.column(new.name if new.mapping_id is None else new.physical_name)
            # Of two columns with ids of their own, one has only taken the other's name.
            old = named if named and (named.mapping_id is None or new.mapping_id is None) else None
        if old is not None:
            used.add(old.name)
        yield old, new
    yield from ((old, None) for old in before.columns if old.name not in used)


def _compare(old: Column | None, new: Column | None, above: Path, found: _Differences) -> None:
    if old is None and new is not None:
        found.added.append((*above, new.name))
    elif new is None and old is not None:
        found.removed.append((*above, old.name))
    elif old is not None and new is not None:
        found.moved = found.moved or old.physical_name != new.physical_name
        if above and old.name != new.name:
            found.renamed.append((*above, new.name))
        _compare_types(old.type, new.type, (*above, new.name), found)


def _compare_types(old: Type, new: Type, path: Path, found: _Differences) -> None:
    if isinstance(old, Struct) and isinstance(new, Struct):
        pairs = list(_matched(old, new))
        for one, other in pairs:
            _compare(one, other, path, found)
        kept = [one.name for one, other in pairs if one and other]
        if kept != [column.name for column in old.columns if column.name in kept]:
            found.renamed.append(path)  # fields in another order are another type
    elif isinstance(old, Array) and isinstance(new, Array):
        _compare_types(old.element, new.element, (*path, "element"), found)
    elif isinstance(old, Map) and isinstance(new, Map):
        _compare_types(old.key, new.key, (*path, "key"), found)
        _compare_types(old.value, new.value, (*path, "value"), found)
    elif isinstance(old, Primitive) and isinstance(new, Primitive):
        if old != new:
            (found.widened if can_widen(old.name, new.name) else found.changed).append(path)
    else:
        found.changed.append(path)
