"""A delete on the command line: its preview and its request."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, pass_session
from console.cli.lookup import table_id
from console.cli.requesting import open_for_table, rehearsed, requested, timed_answer
from console.cli.session import Session, facts
from console.cli.words import figure, label, shown

_HIDDEN = frozenset({"table", "table_id", "rows_hash"})


def of_rows(function: Any) -> Any:
    """Which rows: exactly one of --where and --whole-table."""
    where = click.option("--where", metavar="CONDITION", help="The rows, in Spark's spelling: \"country = 'FR'\".")
    whole = click.option("--whole-table", is_flag=True, help="Every row, said on purpose.")
    return where(whole(function))


def predicate(where: str | None, whole_table: bool) -> str | None:
    """The API's predicate; None is the whole table. Raises UsageError unless exactly one is given."""
    if (where is None) != whole_table:
        raise click.UsageError("Give either --where CONDITION or --whole-table.")
    return where


@click.command("delete", cls=Act)
@click.argument("table")
@of_rows
@click.option("--exact", is_flag=True, help="Let Spark count the rows instead of estimating from the log.")
@timed_answer
@pass_session
def of_delete(session: Session, table: str, where: str | None, whole_table: bool, exact: bool, timeout: float) -> None:
    """Show which files and rows of TABLE a delete would touch.

    The answer comes from the log at once: rows are an upper bound unless "Rows matched exact" says yes.

    \b
    Examples:
      levee preview delete /lake/orders --where "day < DATE '2020-01-01'"
      levee preview delete sales.orders --whole-table --exact --json
    """
    text = predicate(where, whole_table)
    body = {"table": table_id(session.api, table), "predicate": text}
    found = session.api.read("/previews", body, timeout, {"exact": True} if exact else None)
    session.show(found, lambda: _figures(found))


def _figures(found: dict[str, Any]) -> Group:
    scalars = [(n, v) for n, v in found.items() if n not in _HIDDEN and not isinstance(v, list | dict)]
    pairs = [(label(name), str(value) if "version" in name else figure(name, value)) for name, value in scalars]
    pairs += [("Consequence", one["text"]) for one in found.get("consequences") or []]
    pairs += [("Note", shown(note)) for note in found.get("notes") or [] if isinstance(note, str)]
    return Group(facts(pairs))


@click.command(cls=Act)
@click.argument("table")
@of_rows
@rehearsed
@requested
@pass_session
def delete(session: Session, table: str, where: str | None, whole_table: bool, **asked: Any) -> int:
    """Request a delete of rows of TABLE (a name, a path or an id).

    A delete waits until another person has approved it, unless your policy says otherwise. The command prints the
    job and ends; with --wait it ends when the job has.

    \b
    Examples:
      levee delete sales.orders --where "country = 'FR'" --reason "ticket 4711"
      levee delete /lake/tmp --whole-table --reason "end of the trial" --wait --timeout 2h
    """
    values = {"predicate": predicate(where, whole_table)}
    return open_for_table(session, "delete", table, values, asked)


REQUESTS = (delete,)
PREVIEWS = (of_delete,)
