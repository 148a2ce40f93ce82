"""A repair on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("table")
@requested
@pass_session
def repair(session: Session, table: str, **asked: Any) -> int:
    """Request that the data files which storage no longer holds are taken out of TABLE (a name, a path or an id), with their rows.

    A worker asks storage for every live file first; `levee jobs show` has what is missing and how many rows are lost. Put files back
    from a backup where you can: a repair can't be undone.

    \b
    Examples:
      levee repair sales.orders --reason "the disk of May is lost for good" --wait
    """
    return open_for_table(session, "repair", table, {}, asked)


REQUESTS = (repair,)
