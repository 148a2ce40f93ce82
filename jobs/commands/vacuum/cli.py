"""A vacuum on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("table")
@click.option(
    "--retention-hours",
    "hours",
    type=click.IntRange(min=0),
    metavar="HOURS",
    help="Keep files that were needed within so many hours. Default: as long as the table says.",
)
@click.option("--lite", is_flag=True, help="By the log alone, without listing the directory.")
@requested
@pass_session
def vacuum(session: Session, table: str, hours: int | None, lite: bool, **asked: Any) -> int:
    """Request that files which no version of TABLE (a name, a path or an id) within the retention needs are deleted from storage.

    Versions whose files go can't be read or restored afterwards. Less than 168 hours needs approvals of its own, unless your policy
    says otherwise. Levee lists the files first; `levee jobs show` has what would go.

    \b
    Examples:
      levee vacuum sales.orders --reason "old files" --wait
      levee vacuum sales.orders --retention-hours 720 --lite --reason "keep a month"
    """
    return open_for_table(session, "vacuum", table, {"retention_hours": hours, "lite": lite}, asked)


REQUESTS = (vacuum,)
