"""An optimize on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, rehearsed, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("table")
@click.option("--where", metavar="CONDITION", help="Only these partitions: \"day = '2026-11-01'\". Default: all.")
@click.option(
    "--zorder-by", "columns", multiple=True, metavar="COLUMN", help="Sort files by it; repeat it for several."
)
@click.option("--full", is_flag=True, help="All files of a clustered table, also those clustered before.")
@rehearsed
@requested
@pass_session
def optimize(
    session: Session, table: str, where: str | None, columns: tuple[str, ...], full: bool, **asked: Any
) -> int:
    """Request that the files of TABLE (a name, a path or an id) are joined, sorted or clustered. No row changes.

    An optimize needs no approval, unless your policy says otherwise.

    \b
    Examples:
      levee optimize sales.orders --reason "small files" --wait
      levee optimize sales.orders --where "day = '2026-11-01'" --zorder-by customer --reason "slow look-ups"
    """
    values = {
        "predicate": where,
        "zorder_by": list(columns) or None,
        "full": full,
    }
    return open_for_table(session, "optimize", table, values, asked)


REQUESTS = (optimize,)
