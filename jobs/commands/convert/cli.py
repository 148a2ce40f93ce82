"""A conversion on the command line: its preview and its request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, pass_session
from console.cli.lookup import NamedDirectory, directory
from console.cli.requesting import opened, requested, timed_answer
from console.cli.session import Session, facts
from console.cli.words import figure, label, plain, shown


@click.command("convert", cls=Act)
@click.argument("table")
@timed_answer
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


@click.command(cls=Act)
@click.argument("table")
@click.option("--partitioned-by", "ddl", metavar="DDL", help='Partition columns: "day date, country string".')
@click.option("--unpartitioned", is_flag=True, help="The directory has no partitions.")
@click.option("--source-format", default="parquet", show_default=True, metavar="FORMAT")
@click.option("--no-stats", is_flag=True, help="Don't collect statistics of the files.")
@click.option(
    "--accept", multiple=True, metavar="CODE", help="A refusal of the preview that you decide for; repeat for more."
)
@requested
@pass_session
def convert(
    session: Session, table: str, ddl: str | None, unpartitioned: bool, source_format: str, no_stats: bool,
    accept: tuple[str, ...], **asked: Any) -> int:  # fmt: skip
    """Request the conversion of a parquet directory to Delta. TABLE is its path, or a name of the catalog.

    Partition columns are never guessed: `levee preview convert` proposes them, you decide. Give neither
    --partitioned-by nor --unpartitioned for a name whose columns the catalog declares: its partition columns are used.

    \b
    Examples:
      levee convert /lake/orders --partitioned-by "day date" --reason "move orders to Delta" --wait
      levee convert sales.events --unpartitioned --reason "move events to Delta"
      levee convert sales.visits --reason "move it to Delta, as the catalog says"
    """
    place = directory(session.api, table)
    _check_partitions(place, ddl, unpartitioned)
    body = {
        "command": "convert",
        **({"path": place.path} if place.catalog_name is None else {"name": place.catalog_name}),
        "source_format": source_format,
        "partition_schema": ddl,
        "collect_stats": not no_stats,
        **({"accept": list(accept)} if accept else {}),
    }
    return opened(session, "/jobs", body, **asked)


def _check_partitions(place: NamedDirectory, ddl: str | None, unpartitioned: bool) -> None:
    """Raises UsageError unless they are said once, by an option or by the catalog. The server compares --partitioned-by with the latter."""
    if (ddl is not None and unpartitioned) or not (ddl is not None or unpartitioned or place.declared):
        raise click.UsageError("Give either --partitioned-by DDL or --unpartitioned.")
    if unpartitioned and place.declared and (columns := place.declared["partition_columns"]):
        names = plain(", ".join(columns))
        raise click.UsageError(
            f"The catalog declares partition columns of {place.catalog_name}: {names}. Leave --unpartitioned out."
        )


REQUESTS = (convert,)
PREVIEWS = (of_convert,)
