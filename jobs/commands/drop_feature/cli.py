"""A dropped feature on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


@click.command("drop-feature", cls=Act)
@click.argument("table")
@click.argument("feature")
@click.option(
    "--truncate-history",
    is_flag=True,
    help="Cut the history as well, so that older readers can read: in two requests, with a wait between them.",
)
@requested
@pass_session
def drop_feature(session: Session, table: str, feature: str, truncate_history: bool, **asked: Any) -> int:
    """Request that TABLE (a name, a path or an id) no longer has the FEATURE of Delta's.

    \b
    Examples:
      levee drop-feature sales.orders deletionVectors --reason "an older Trino reads it" --wait
      levee drop-feature sales.orders deletionVectors --truncate-history --reason "an older Trino reads it"
    """
    return open_for_table(
        session, "drop_feature", table, {"feature": feature, "truncate_history": truncate_history}, asked
    )


REQUESTS = (drop_feature,)
