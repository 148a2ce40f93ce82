"""A change of a schema on the command line: its options are the changes, in the order in which you give them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

import click

from console.cli.acts import Act, pass_session
from console.cli.requesting import open_for_table, rehearsed, requested
from console.cli.session import Session

_ORDER = "levee.order_of_changes"
# What each option gives, as the API writes that change.
_CHANGES: Mapping[str, Callable[[Any], Any]] = {
    "add": lambda given: {"path": given[0], "type": given[1]},
    "rename": lambda given: {"path": given[0], "to": given[1]},
    "drop": lambda given: {"path": given},
    "widen": lambda given: {"path": given[0], "type": given[1]},
    "comment": lambda given: {"path": given[0], "text": given[1]},
    "nullable": lambda given: {"path": given},
    "add_constraint": lambda given: {"name": given[0], "expression": given[1]},
    "drop_constraint": lambda given: {"name": given},
    "cluster_by": lambda given: [name.strip() for name in given.split(",") if name.strip()],
    "table_comment": str,
}


class InOrder(Act):
    """Click gives each option's values together; the changes are made in the order of the line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[_ORDER] = [one.name for one in order if one.name in _CHANGES]
        return super().parse_args(ctx, args)


@click.command("alter-schema", cls=InOrder)
@click.argument("table")
@click.option("--add", nargs=2, multiple=True, metavar="PATH TYPE", help="Add a column, or a field: a.b string.")
@click.option("--rename", nargs=2, multiple=True, metavar="PATH NAME", help="Rename it.")
@click.option("--drop", multiple=True, metavar="PATH", help="Drop it.")
@click.option("--widen", nargs=2, multiple=True, metavar="PATH TYPE", help="Give it a wider type: n bigint.")
@click.option("--comment", nargs=2, multiple=True, metavar="PATH TEXT", help="Describe it.")
@click.option("--nullable", multiple=True, metavar="PATH", help="Let it be NULL.")
@click.option("--add-constraint", nargs=2, multiple=True, metavar="NAME CONDITION", help="Every row must meet it.")
@click.option("--drop-constraint", multiple=True, metavar="NAME", help="Drop the CHECK constraint.")
@click.option("--cluster-by", multiple=True, metavar="COLUMNS", help='Cluster by them: "day, customer"; "": by none.')
@click.option("--table-comment", multiple=True, metavar="TEXT", help="Describe the table.")
@click.option(
    "--changes", type=click.File(), metavar="FILE", help="All changes as the API's JSON list; -: from standard input."
)
@rehearsed
@requested
@pass_session
def alter_schema(session: Session, table: str, changes: TextIO | None, **given: Any) -> int:
    """Request changes of the schema of TABLE (a name, a path or an id): one commit each, in the order of the options.

    \b
    Examples:
      levee alter-schema sales.orders --add customer.vip boolean --reason "the new report" --wait
      levee alter-schema sales.orders --rename amt amount --add-constraint paid "amount > 0" --reason "as agreed"
      levee alter-schema sales.orders --changes changes.json --reason "as agreed"
    """
    by_kind = {kind: given.pop(kind) for kind in _CHANGES}
    wanted = list(_in_order(click.get_current_context().meta[_ORDER], by_kind))
    if (changes is None) == (not wanted):
        raise click.UsageError("Give changes as options, or all of them by --changes.")
    values = {"changes": _read(changes) if changes else wanted}
    return open_for_table(session, "alter_schema", table, values, given)


def _in_order(order: list[str], by_kind: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for kind in order:
        yield {kind: _CHANGES[kind](by_kind[kind][seen[kind]])}
        seen[kind] += 1


def _read(file: TextIO) -> Any:
    """Raises UsageError for what is no list of JSON; what its changes are is the server's to judge."""
    try:
        found = json.load(file)
    except ValueError as trouble:
        raise click.UsageError(f"--changes is no JSON: {trouble}") from None
    if not isinstance(found, list):
        raise click.UsageError("--changes is no list: write [{…}, {…}].")
    return found


REQUESTS = (alter_schema,)
