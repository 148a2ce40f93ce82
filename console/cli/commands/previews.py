"""What a delete, a conversion or a restore would do. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, Duration, pass_session
from console.cli.lookup import directory, table_id
from console.cli.session import Column, Session, facts, listing
from console.cli.words import figure, label, shown

_HIDDEN = frozenset({"table", "table_id", "rows_hash"})
ANSWER_S = 300.0


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


def _timed(function: Any) -> Any:
    text = "How long a worker may take to answer."
    return click.option("--timeout", type=Duration(), default=ANSWER_S, metavar="TIME", help=f"{text} Default: 5m.")(
        function
    )


@click.group()
def preview() -> None:
    """Show what a delete, a conversion or a restore would do. Nothing is changed."""


@preview.command("delete", cls=Act)
@click.argument("table")
@of_rows
@click.option("--exact", is_flag=True, help="Let Spark count the rows instead of estimating from the log.")
@_timed
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


@preview.command("convert", cls=Act)
@click.argument("table")
@_timed
@pass_session
def of_convert(session: Session, table: str, timeout: float) -> None:
    """Show what a conversion would find in a parquet directory. TABLE is its path, or a name of the catalog.

    By a name you also see the partition columns that the catalog declares, with --json as catalog_name and
    catalog_entry: a conversion by the name uses those. A table of your metastore has a name once you have added it.

    \b
    Examples:
      levee preview convert /lake/orders
      levee preview convert sales.events --json
    """
    place = directory(session.api, table)
    found = session.api.read("/conversions/inspect", {"path": place.path}, timeout)
    if place.catalog_name is not None:
        found = {**found, "catalog_name": place.catalog_name, "catalog_entry": place.declared}
    session.show(found, lambda: _inspection(found))


@preview.command("restore", cls=Act)
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


def _figures(found: dict[str, Any]) -> Group:
    scalars = [(n, v) for n, v in found.items() if n not in _HIDDEN and not isinstance(v, list | dict)]
    pairs = [(label(name), str(value) if "version" in name else figure(name, value)) for name, value in scalars]
    pairs += [("Consequence", one["text"]) for one in found.get("consequences") or []]
    pairs += [("Note", shown(note)) for note in found.get("notes") or [] if isinstance(note, str)]
    return Group(facts(pairs))


def _inspection(found: dict[str, Any]) -> Group:
    named = ("catalog_name",) if "catalog_name" in found else ()
    figures = (*named, "path", "num_files", "size_bytes", "num_records")
    pairs = [(label(name), figure(name, found[name])) for name in figures]
    pairs += [("Hidden files", shown(found["hidden_files"])), ("Stray files", shown(found["stray_files"]))]
    pairs += [("Already Delta", shown(found["already_delta"])), ("Nested tables", shown(found["nested_tables"]))]
    pairs += [("Conflict", one["text"]) for one in found["conflicts"]]
    pairs += [("Refused", f"{one['message']} {one['remedy'] or ''} [{one['code']}]") for one in found["refusals"]]
    pairs += [("Note", one["text"]) for one in found["notes"]]
    return Group(facts([*pairs, *_partitions(found)]))


def _partitions(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the directories propose; what the catalog declares counts instead."""
    ddl = ", ".join(f"{one['name']} {one['proposed_type']}" for one in found["partition_columns"])
    declared = found.get("catalog_entry")
    if declared is None:
        if ddl:
            yield "Partitioned by", f"{ddl} (proposed: give it as --partitioned-by)"
        return
    types = {one["name"]: one["type"] for one in declared["schema"]["fields"]}
    names = ", ".join(f"{name} {types[name]}" for name in declared["partition_columns"]) or "nothing"
    yield "Found in directories", ddl or "no partitions"
    yield "Partitioned by", f"{names} (declared by the catalog: leave --partitioned-by out)"
    yield "Note", "Levee compares the catalog's columns with the files when you request the conversion."


def _undone(found: dict[str, Any], newest: int | None) -> Group:
    pairs = [
        ("From version", shown(None) if newest is None else str(newest)),
        ("To version", str(found["from"])),
        ("Restorable", shown(found["restorable"])),
        ("Why not", shown(found["why_not_restorable"])),
    ]
    return Group(facts(pairs), "", listing(_COMMITS, _commits(found["commits"])))


_COMMITS = [Column("Figure", lambda pair: label(pair[0])), Column("Value", lambda pair: figure(*pair), is_number=True)]


def _commits(between: Any) -> list[tuple[str, Any]]:
    scalars = between.items() if isinstance(between, dict) else [("commits", len(between))]
    return [(name, value) for name, value in scalars if not isinstance(value, list | dict)]
