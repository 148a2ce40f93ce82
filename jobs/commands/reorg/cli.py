"""A reorg on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("table")
@click.option("--where", metavar="CONDITION", help="Only these partitions: \"day = '2026-11-01'\". Default: all.")
@requested
@pass_session
def reorg(session: Session, table: str, where: str | None, **asked: Any) -> int:
    """Request that the files of TABLE (a name, a path or an id) that hold deleted rows or dropped columns are written again without them.

    Delta's REORG TABLE ... APPLY (PURGE). No row that the table shows changes; the old files stay until a vacuum.

    \b
    Examples:
      levee reorg sales.orders --reason "purge deleted rows" --wait
      levee reorg sales.orders --where "day = '2026-11-01'" --reason "purge one day"
    """
    return open_for_table(session, "reorg", table, {"predicate": where}, asked)


REQUESTS = (reorg,)
