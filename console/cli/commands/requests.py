"""Requests: delete, convert, restore, optimize, undo. Each opens a job; a second person may have to approve it."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, JobId, keyed, pass_session, reasoned, waiting
from console.cli.commands.jobs import wait_for
from console.cli.commands.previews import of_rows, predicate
from console.cli.following import has_ended
from console.cli.lookup import Directory, directory, job_id, table_id
from console.cli.reviews import summary
from console.cli.session import Session, facts
from console.cli.words import plain


def _opened(
    session: Session, path: str, body: dict[str, Any], key: str, wait: bool, timeout: float | None, id_alone: bool
) -> int:
    """Opens the job and shows it; with `wait`, once it has ended. The exit code."""
    job = session.api.post(path, body, key=key)
    if wait:
        session.note(f"Requested as job {job['id']}. Its page, to send to who approves it:\n{page_of(session, job)}")
        return wait_for(session, job, has_ended, timeout, id_alone)
    session.show_job(job, lambda: facts(summary(job)), id_alone)
    if not has_ended(job):
        session.note(f"{_next_step(job)}\nIts page: {page_of(session, job)}")
    return 0


def page_of(session: Session, job: dict[str, Any]) -> str:
    """The job's page, as a browser opens it."""
    return f"{session.server.url}/jobs/{job['id']}/"


def _next_step(job: dict[str, Any]) -> str:
    follow = f"Wait for its end: levee wait {job['id']}"
    if job["state"] == "awaiting_approval":
        return f"It waits for approval by another person. {follow}"
    if job["state"] == "previewing":
        return f"Levee measures the table first; then the job waits for approval, if a rule asks for one. {follow}"
    return follow


@click.command(cls=Act)
@click.argument("table")
@of_rows
@reasoned
@keyed
@waiting
@pass_session
def delete(
    session: Session, table: str, where: str | None, whole_table: bool, reason: str, key: str, **how: Any
) -> int:
    """Request a delete of rows of TABLE (a name, a path or an id).

    A delete waits until another person has approved it, unless your policy says otherwise. The command prints the
    job and ends; with --wait it ends when the job has.

    \b
    Examples:
      levee delete sales.orders --where "country = 'FR'" --reason "ticket 4711"
      levee delete /lake/tmp --whole-table --reason "end of the trial" --wait --timeout 2h
    """
    text = predicate(where, whole_table)
    body = {"command": "delete", "table": table_id(session.api, table), "predicate": text, "reason": reason}
    return _opened(session, "/jobs", body, key, **how)


@click.command(cls=Act)
@click.argument("table")
@click.option("--partitioned-by", "ddl", metavar="DDL", help='Partition columns: "day date, country string".')
@click.option("--unpartitioned", is_flag=True, help="The directory has no partitions.")
@click.option("--source-format", default="parquet", show_default=True, metavar="FORMAT")
@click.option("--no-stats", is_flag=True, help="Don't collect statistics of the files.")
@click.option(
    "--accept", multiple=True, metavar="CODE", help="A refusal of the preview that you decide for; repeat for more."
)
@reasoned
@keyed
@waiting
@pass_session
def convert(
    session: Session, table: str, ddl: str | None, unpartitioned: bool, source_format: str, no_stats: bool,
    accept: tuple[str, ...], reason: str, key: str, **how: Any,
) -> int:  # fmt: skip
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
        "reason": reason,
    }
    return _opened(session, "/jobs", body, key, **how)


def _check_partitions(place: Directory, ddl: str | None, unpartitioned: bool) -> None:
    """Raises UsageError unless they are said once, by an option or by the catalog. The server compares --partitioned-by with the latter."""
    if (ddl is not None and unpartitioned) or not (ddl is not None or unpartitioned or place.declared):
        raise click.UsageError("Give either --partitioned-by DDL or --unpartitioned.")
    if unpartitioned and place.declared and (columns := place.declared["partition_columns"]):
        names = plain(", ".join(columns))
        raise click.UsageError(
            f"The catalog declares partition columns of {place.catalog_name}: {names}. Leave --unpartitioned out."
        )


@click.command(cls=Act)
@click.argument("table")
@click.argument("version", type=click.IntRange(min=0))
@reasoned
@keyed
@waiting
@pass_session
def restore(session: Session, table: str, version: int, reason: str, key: str, **how: Any) -> int:
    """Request that TABLE (a name, a path or an id) becomes as it was at VERSION.

    \b
    Example:
      levee restore sales.orders 12 --reason "the import of Monday was wrong" --wait
    """
    body = {"command": "restore", "table": table_id(session.api, table), "version": version, "reason": reason}
    return _opened(session, "/jobs", body, key, **how)


@click.command(cls=Act)
@click.argument("table")
@click.option("--where", metavar="CONDITION", help="Only these partitions: \"day = '2026-11-01'\". Default: all.")
@click.option(
    "--zorder-by", "columns", multiple=True, metavar="COLUMN", help="Sort files by it; repeat it for several."
)
@click.option("--full", is_flag=True, help="All files of a clustered table, also those clustered before.")
@reasoned
@keyed
@waiting
@pass_session
def optimize(
    session: Session,
    table: str,
    where: str | None,
    columns: tuple[str, ...],
    full: bool,
    reason: str,
    key: str,
    **how: Any,
) -> int:
    """Request that the files of TABLE (a name, a path or an id) are joined, sorted or clustered. No row changes.

    An optimize needs no approval, unless your policy says otherwise.

    \b
    Examples:
      levee optimize sales.orders --reason "small files" --wait
      levee optimize sales.orders --where "day = '2026-11-01'" --zorder-by customer --reason "slow look-ups"
    """
    body = {
        "command": "optimize",
        "table": table_id(session.api, table),
        "predicate": where,
        "zorder_by": list(columns) or None,
        "full": full,
        "reason": reason,
    }
    return _opened(session, "/jobs", body, key, **how)


@click.command(cls=Act)
@click.argument("job", type=JobId())
@click.option(
    "--accept-commit", "commits", multiple=True, type=click.IntRange(min=0), metavar="VERSION",
    help="A later commit that the undo may undo as well; repeat it for several.",
)  # fmt: skip
@reasoned
@keyed
@waiting
@pass_session
def undo(session: Session, job: str, commits: tuple[int, ...], reason: str, key: str, **how: Any) -> int:
    """Request the undo of the finished JOB: a restore of the version before its commit, with its own review.

    \b
    Examples:
      levee undo 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --reason "wrong customer"
      levee undo 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --accept-commit 14 --reason "wrong customer"
    """
    body = {"reason": reason, "accept_commits": list(commits)}
    return _opened(session, f"/jobs/{job_id(session.api, job)}/undo", body, key, **how)
