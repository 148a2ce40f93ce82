"""The columns that a predicate may name, and how a name finds one of them: as Spark does, without regard to case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A column or a struct's field. `type` is Spark's text (`int`, `decimal(10,2)`); a struct's is `struct` with `fields`.

    Types that predicates can only ask for NULL keep their own name (`array`, `map`, `variant`, …).
    """

    name: str
    type: str
    nullable: bool = True
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """A table's columns at one version."""

    fields: tuple[Field, ...]

    def field(self, path: Sequence[str]) -> Field:
        """The field at a path that `resolve` gave. Raises KeyError."""
        below, current = self.fields, None
        for part in path:
            current = next((field for field in below if field.name == part), None)
            if current is None:
                raise KeyError(part)
            below = current.fields
        if current is None:
            raise KeyError("a path has a name at least")
        return current

    def can_be_null(self, path: Sequence[str]) -> bool:
        """Whether a value at the path can be NULL: because it, or a struct above it, can."""
        return any(self.field(path[: depth + 1]).nullable for depth in range(len(path)))


class Unresolved(LookupError):
    """A name that finds no column, or several. `part` counts from 0 into the path, `near` are names that look alike."""

    def __init__(self, part: int, reason: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.part = part
        self.reason = reason
        self.near = near


def resolve(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """The path with the schema's own spelling. Raises Unresolved."""
    path: list[str] = []
    below = schema.fields
    for part, name in enumerate(names):
        matches = [field for field in below if field.name.lower() == name.lower()]
        if len(matches) != 1:
            raise _unresolved(part, path, name, below, matches)
        path.append(matches[0].name)
        below = matches[0].fields
    return tuple(path)


def _unresolved(part: int, above: list[str], name: str, below: Sequence[Field], matches: list[Field]) -> Unresolved:
    if matches:
        names = ", ".join(field.name for field in matches)
        return Unresolved(part, f"{name} could be any of {names}: Spark doesn’t tell upper from lower case")
    where = f"{'.'.join(above)} has no field" if above else "the table has no column"
    return Unresolved(part, f"{where} {name}", tuple(field.name for field in below if _alike(name, field.name)))


def _alike(name: str, other: str) -> bool:
    a, b = name.lower(), other.lower()
    return bool(a) and (a in b or b in a or a[:3] == b[:3])
