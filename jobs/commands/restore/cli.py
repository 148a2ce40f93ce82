"""A restore on the command line: what lies between, and its request."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, pass_session
from console.cli.lookup import table_id
from console.cli.requesting import open_for_table, rehearsed, requested
from console.cli.session import ListColumn, Session, facts, listing
from console.cli.words import figure, label, shown


@click.command("restore", cls=Act)
@click.argument("table")
@click.argument("version", type=click.IntRange(min=0))
@pass_session
def of_restore(session: Session, table: str, version: int) -> None:
    """Show what lies between the newest version of TABLE and VERSION: the commits that a restore would undo.

    \b
    Example:
      levee preview restore sales.orders 12
    """
    known = session.api.get(f"/tables/{table_id(session.api, table)}")
    newest = known["version"]
    query = {"from": version, "to": newest}
    found = session.api.get(f"/tables/{known['id']}/compare", query)
    target = session.api.get(f"/tables/{known['id']}/commits/{version}")
    answer = {**found, "restorable": target["restorable"], "why_not_restorable": target["why_not_restorable"]}
    session.show(answer, lambda: _undone(answer, newest))


def _undone(found: dict[str, Any], newest: int | None) -> Group:
    pairs = [
        ("From version", shown(None) if newest is None else str(newest)),
        ("To version", str(found["from"])),
        ("Restorable", shown(found["restorable"])),
        ("Why not", shown(found["why_not_restorable"])),
    ]
    return Group(facts(pairs), "", listing(_COMMITS, _commits(found["commits"])))


_COMMITS = [
    ListColumn("Figure", lambda pair: label(pair[0])),
    ListColumn("Value", lambda pair: figure(*pair), is_number=True),
]


def _commits(between: Any) -> list[tuple[str, Any]]:
    scalars = between.items() if isinstance(between, dict) else [("commits", len(between))]
    return [(name, value) for name, value in scalars if not isinstance(value, list | dict)]


@click.command(cls=Act)
@click.argument("table")
@click.argument("version", type=click.IntRange(min=0))
@rehearsed
@requested
@pass_session
def restore(session: Session, table: str, version: int, **asked: Any) -> int:
    """Request that TABLE (a name, a path or an id) becomes as it was at VERSION.

    \b
    Example:
      levee restore sales.orders 12 --reason "the import of Monday was wrong" --wait
    """
    values = {"version": version}
    return open_for_table(session, "restore", table, values, asked)


REQUESTS = (restore,)
PREVIEWS = (of_restore,)
