"""A change of properties on the command line."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, requested
from console.cli.session import Session


class PropertyParam(click.ParamType[tuple[str, str]]):
    """`NAME=VALUE`; the value may be empty, and hold further `=`."""

    name = "property"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, sign, text = str(value).partition("=")
        if not name or not sign:
            self.fail(f"{value!r} is no property with its value: write NAME=VALUE.", param, ctx)
        return name, text


@click.command("set-properties", cls=Act)
@click.argument("table")
@click.option(
    "--set", "pairs", type=PropertyParam(), multiple=True, metavar="NAME=VALUE", help="Set it; repeat for more."
)
@click.option("--unset", multiple=True, metavar="NAME", help="Remove it, so that its default counts; repeat for more.")
@requested
@pass_session
def set_properties(
    session: Session, table: str, pairs: tuple[tuple[str, str], ...], unset: tuple[str, ...], **asked: Any
) -> int:
    """Request other properties of TABLE (a name, a path or an id).

    Some switch on a feature that older readers or writers lack: the job's preview says which, and what can't be taken back.

    \b
    Examples:
      levee set-properties sales.orders --set delta.enableChangeDataFeed=true --reason "a stream reads it" --wait
      levee set-properties sales.orders --set "delta.logRetentionDuration=interval 60 days" --unset team --reason "as agreed"
    """
    if not pairs and not unset:
        raise click.UsageError("Give --set NAME=VALUE or --unset NAME.")
    twice = sorted({name for name, _ in pairs if [one for one, _ in pairs].count(name) > 1})
    if twice:
        raise click.UsageError(f"{twice[0]} is set twice.")
    return open_for_table(session, "set_properties", table, {"set": dict(pairs), "unset": list(unset)}, asked)


REQUESTS = (set_properties,)
