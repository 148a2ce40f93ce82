"""A clone on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("table")
@click.argument("target")
@click.option(
    "--shallow/--deep",
    "shallow",
    default=None,
    help="Shallow: names the files of TABLE, which must stay. Deep: copies them.",
)
@click.option("--version", type=click.IntRange(min=0), metavar="VERSION", help="Of TABLE. Default: its newest.")
@requested
@pass_session
def clone(session: Session, table: str, target: str, shallow: bool | None, version: int | None, **asked: Any) -> int:
    """Request a new Delta table at TARGET, an empty or new directory, with the rows of TABLE (a name, a path or an id).

    \b
    Examples:
      levee clone sales.orders /lake/trial/orders --shallow --reason "try the new report" --wait
      levee clone sales.orders /lake/kept/orders --deep --version 12 --reason "keep the year's end"
    """
    if shallow is None:
        raise click.UsageError("Give either --shallow or --deep.")
    values = {"target": target, "kind": "shallow" if shallow else "deep", "version": version}
    return open_for_table(session, "clone", table, values, asked)


REQUESTS = (clone,)
