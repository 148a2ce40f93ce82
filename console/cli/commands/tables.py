"""The catalog: tables, one of them, its history."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, limit_of, limited, pass_session
from console.cli.lookup import table_id
from console.cli.session import ListColumn, Session, facts, listing
from console.cli.words import figure, moment, shown, size

_LIST = [
    ListColumn("Name", lambda row: row["catalog_name"] or row["name"]),
    ListColumn("Format", lambda row: row["format"]),
    ListColumn("Version", lambda row: _version(row["version"]), is_number=True),
    ListColumn("Rows", lambda row: shown(row["num_records"]), is_number=True),
    ListColumn("Size", lambda row: size(row["size_bytes"]), is_number=True),
    ListColumn("Last commit (UTC)", lambda row: moment(row["last_commit_at"]), is_whole=True),
    ListColumn("Health", lambda row: ", ".join(row["health_codes"])),
    ListColumn("Path", lambda row: row["path"]),
]


def _version(version: int | None) -> str:
    return shown(None) if version is None else str(version)


@click.command(cls=Act)
@click.argument("search", required=False)
@click.option("--root", multiple=True, metavar="NAME", help="A root's name or id.")
@click.option("--format", "formats", multiple=True, type=click.Choice(["delta", "parquet"]))
@click.option("--tag", multiple=True, metavar="TAG")
@click.option("--owner", multiple=True, metavar="OWNER")
@click.option("--feature", multiple=True, metavar="FEATURE", help="A table feature of Delta's protocol.")
@click.option("--health", multiple=True, metavar="CODE", help="Tables with this finding.")
@click.option(
    "--age", multiple=True, type=click.Choice(["day", "old"]), help="day: changed within a day; old: not for 90 days."
)
@click.option("--stale", is_flag=True, help="Tables whose last sync is overdue.")
@click.option("--favourite", is_flag=True, help="Your favourites.")
@click.option("--order", type=click.Choice(["best", "name", "-size", "-files", "-changed"]))
@limited
@pass_session
def tables(session: Session, search: str | None, formats: tuple[str, ...], limit: int, **filters: Any) -> None:
    """List the tables that you may see, or those that match SEARCH.

    SEARCH is any part of a name, path, column, tag or owner. A filter that you give more than once holds alternatives.

    \b
    Examples:
      levee tables orders --format delta
      levee tables --health small_files --order -size --limit 10
      levee tables --json --limit 0
    """
    flags = {name: True for name in ("stale", "favourite") if filters.pop(name)}
    query = {"q": search, "format": formats, **flags, **filters}
    session.show_list(session.api.pages("/tables", query, limit_of(limit)), _LIST)


@click.command(cls=Act)
@click.argument("table")
@pass_session
def table(session: Session, table: str) -> None:
    """Show one table: TABLE is a name, a path or an id.

    \b
    Examples:
      levee table sales.orders
      levee table /lake/orders --json
    """
    found = session.api.get(f"/tables/{table_id(session.api, table)}")
    session.show(found, lambda: _overview(found))


@click.command(cls=Act)
@click.argument("table")
@click.option("--remove", is_flag=True, help="Take it from your favourites.")
@pass_session
def favourite(session: Session, table: str, remove: bool) -> None:
    """Make TABLE (a name, a path or an id) a favourite of yours; nobody else sees it.

    \b
    Examples:
      levee favourite sales.orders
      levee favourite sales.orders --remove
    """
    where = f"/tables/{table_id(session.api, table)}/favourite"
    act, text = (session.api.delete, "No favourite of yours.") if remove else (session.api.put, "A favourite of yours.")
    act(where)
    session.show({"favourite": not remove}, lambda: text)


def _overview(found: dict[str, Any]) -> Group:
    plain_ones = (
        "format",
        "table_id",
        "num_records",
        "num_files",
        "size_bytes",
        "owner",
        "description",
        "last_commit_at",
    )
    pairs = [("Name", found["catalog_name"] or found["name"]), ("Path", found["path"]), ("Id", found["id"])]
    pairs += [("Version", _version(found["version"]))]
    pairs += [(name.replace("_", " ").capitalize(), figure(name, found[name])) for name in plain_ones]
    pairs += [
        ("Partitioned by", shown(found["partition_columns"])),
        ("Clustered by", shown(found["clustering_columns"])),
    ]
    pairs += [("Tags", shown(found["tags"])), ("Features", shown(found["features"]))]
    pairs += [(f"Property {name}", shown(value)) for name, value in found["properties"].items()]
    pairs += [("Finding", f"{one['text']} {one['advice']}") for one in found["health"]]
    pairs += [("Synced", f"{moment(found['synced_at'])} UTC"), ("Sync error", shown(found["sync_error"]))]
    return Group(facts(pairs), "", listing(_COLUMNS, _columns(found["schema"])))


_COLUMNS = [
    ListColumn("Column", lambda column: column["name"]),
    ListColumn("Type", lambda column: column["type"] if isinstance(column["type"], str) else column["type"]["type"]),
    ListColumn("Nullable", lambda column: shown(column["nullable"])),
]


def _columns(schema: dict[str, Any] | None) -> list[dict[str, Any]]:
    return schema["fields"] if schema else []


_HISTORY = [
    ListColumn("Version", lambda row: str(row["version"]), is_number=True),
    ListColumn("Committed (UTC)", lambda row: moment(row["committed_at"]), is_whole=True),
    ListColumn("Operation", lambda row: shown(row["operation"])),
    ListColumn("By", lambda row: shown(row["user_name"] or row["engine_info"])),
    ListColumn("Restorable", lambda row: shown(row["restorable"])),
    ListColumn("Job", lambda row: shown(row["job"])),
    ListColumn("Metrics", lambda row: ", ".join(f"{name}={value}" for name, value in row["operation_metrics"].items())),
]


@click.command(cls=Act)
@click.argument("table")
@click.option("--operation", metavar="NAME", help="A name, or destructive, but_streaming, unexplained.")
@click.option("--by", metavar="WHO", help="Who requested the job, or the user or engine named in the log.")
@click.option("--since", metavar="TIME", help="ISO 8601.")
@click.option("--until", metavar="TIME", help="ISO 8601.")
@click.option("--before", type=click.IntRange(min=0), metavar="VERSION")
@limited
@pass_session
def history(session: Session, table: str, limit: int, **filters: Any) -> None:
    """List the commits of TABLE (a name, a path or an id), newest first.

    \b
    Examples:
      levee history /lake/orders --operation destructive
      levee history sales.orders --since 2026-11-01 --json
    """
    page = session.api.pages(f"/tables/{table_id(session.api, table)}/history", filters, limit_of(limit))
    session.show_list(page, _HISTORY)
