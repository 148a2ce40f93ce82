"""Scopes as people write them: `everything`, `root:NAME`, `table:PATH`."""

from __future__ import annotations

from console.accounts.authority import EVERYTHING, Scope
from console.errors import Problem
from tables.locations import LocationError, canonical, real_root
from tables.models import Root, Table


def scope_of(text: str) -> Scope:
    """The scope that the text names. Raises Problem 400 `invalid` for one that isn't known."""
    kind, colon, name = text.partition(":")
    if text == "everything":
        return EVERYTHING
    if kind == "root" and name:
        return _root(name)
    if kind == "table" and colon and name:
        return _table(name)
    raise _invalid(f"{text!r} is no scope: everything, root:NAME or table:PATH")


def _root(name: str) -> Scope:
    root = Root.objects.filter(name=name).first()
    if root is None:
        raise _invalid(f"no root is named {name}")
    return Scope(root_id=root.pk)


def _table(path: str) -> Scope:
    try:
        spellings = {canonical(path), real_root(path)}
    except LocationError as error:
        raise _invalid(str(error)) from None
    table = Table.objects.filter(path__in=spellings).first()
    if table is None:
        raise _invalid(f"no table is known at {path}; add it to the catalog first")
    return Scope(table_id=table.pk)


def _invalid(detail: str) -> Problem:
    return Problem(400, "invalid", detail, fields={"on": detail})
