"""Scopes as you write them: `everything`, `root:NAME`, `table:PATH`."""

from __future__ import annotations

from console.accounts.authority import EVERYTHING, GrantScope, holds_on
from console.accounts.models import Person
from console.accounts.roles import Permission
from console.base.errors import Problem
from tables.models import Root, Table
from tables.rules.locations import LocationError, canonical, real_root


def scope_of(text: str, asker: Person | None = None, permission: Permission = Permission.PEOPLE_MANAGE) -> GrantScope:
    """The scope that the text names. Raises Problem 400 `invalid` for one that isn't known.

    An asker who has the permission on some places alone gets the same 403 `forbidden` for every other place, known or not: what
    there is elsewhere is not theirs to find out.
    """
    if asker is None or asker.scopes(permission).everything:
        return _known(text)
    try:
        scope = _known(text)
    except Problem:
        if text.partition(":")[0] in ("root", "table"):
            raise _elsewhere() from None
        raise
    if not holds_on(asker, permission, scope):
        raise _elsewhere()
    return scope


def _elsewhere() -> Problem:
    return Problem(403, "forbidden", "Only an admin of this scope can do this, and you have no scope of that name.")


def _known(text: str) -> GrantScope:
    kind, colon, name = text.partition(":")
    if text == "everything":
        return EVERYTHING
    if kind == "root" and name:
        return _root(name)
    if kind == "table" and colon and name:
        return _table(name)
    raise _invalid(f"{text!r} isn't a scope: use everything, root:NAME or table:PATH")


def _root(name: str) -> GrantScope:
    root = Root.objects.filter(name=name).first()
    if root is None:
        raise _invalid(f"no root is named {name}")
    return GrantScope(root_id=root.pk)


def _table(path: str) -> GrantScope:
    try:
        spellings = {canonical(path), real_root(path)}
    except LocationError as error:
        raise _invalid(str(error)) from None
    table = Table.objects.filter(path__in=spellings).first()
    if table is None:
        raise _invalid(f"no table is known at {path}; add it to the catalog first")
    return GrantScope(table_id=table.pk)


def _invalid(detail: str) -> Problem:
    return Problem(400, "invalid", detail, fields={"on": detail})
