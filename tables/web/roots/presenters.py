"""Roots as their pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.templatetags.formatting.looks import STATE_LOOKS, StateLook
from tables.catalog.roots import figures as root_figures
from tables.catalog.roots import object_stores
from tables.catalog.roots.figures import RootFigures
from tables.models import Root, Table
from tables.rules.sample_lake import is_sample
from tables.storage.stores import kind_of
from tables.web.table_state import state_of

MOST_TROUBLED = 20


@dataclass(frozen=True, slots=True)
class RootRow:
    """A root in the list. `failed` is the table that failed last, None where none fails."""

    root: Root
    figures: RootFigures
    state: StateLook
    failed: Table | None


def rows(roots: Iterable[Root]) -> list[RootRow]:
    """In their order; as many queries however many roots there are."""
    listed = list(roots)
    figures, failed = root_figures.figures_of(listed), root_figures.failed_last(listed)
    return [RootRow(root, figures[root.pk], look(root, figures[root.pk]), failed.get(root.pk)) for root in listed]


def look(root: Root, figures: RootFigures) -> StateLook:
    """The root's state in a word, worst news first."""
    if root.paused_at:
        return STATE_LOOKS["paused"]
    if bad := figures.failing + figures.missing:
        return StateLook("bad", "circle-x", f"{bad:,} table{' fails' if bad == 1 else 's fail'}")
    if root.is_scanning:
        return StateLook("run", "loader-2", "Scanning")
    if root.scan_stopped:
        return StateLook("wait", "alert-triangle", "Last scan incomplete")
    return StateLook("ok", "circle-check", "Active")


def details(person: Person, root: Root) -> dict[str, Any]:
    """The context of a root's page."""
    figures = root_figures.figures_of([root])[root.pk]
    troubled = [{"table": table, "state": state_of(table)} for table in root_figures.troubled(root)[:MOST_TROUBLED]]
    return {
        "root": root,
        "figures": figures,
        "state": look(root, figures),
        "troubled": troubled,
        "most_troubled": MOST_TROUBLED,
        "may_scan": person.scopes(Permission.TABLE_ADD).covers_root(root.pk) and root.paused_at is None,
        "may_remove": person.scopes(Permission.ROOT_MANAGE).everything,
        "is_sample": is_sample(settings.ENV.home, root.uri),
        **storage_of(root),
    }


def storage_of(root: Root) -> dict[str, Any]:
    """How the root's bucket is reached, and the other roots in it, or whom Levee is there; None for storage that no root describes."""
    store = object_stores.row_of(root)
    if store is None:
        kind = kind_of(root.uri)
        return {"store": None, "kind": kind, "storage_user": kind.user() if kind.user else None}
    others = object_stores.sharing(root)
    described = object_stores.described_in(root.uri)
    own = {"key": object_stores.shown(store)["key"], "cloud": described.cloud, "shares": described.shares}
    return {"store": store, "sharing": others, **own}


def storage_initial(root: Root) -> dict[str, Any]:
    """What the form of a root's storage begins with: all but its secrets."""
    store = object_stores.row_of(root)
    if store is None:
        return {}
    return {name: getattr(store, name) for name in ("endpoint", "region", "path_style", "key_id")}
