"""Jobs: the list, one of them, waiting for it, cancelling it."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Group

from console.cli.acts import Act, JobId, ListGroup, limit_of, limited, pass_session, timed
from console.cli.following import has_ended, is_approved
from console.cli.lookup import job_id, table_id
from console.cli.reviews import whole
from console.cli.session import ListColumn, Session, facts, listing
from console.cli.waits import wait_for
from console.cli.words import moment, shown

_LIST = [
    ListColumn("Job", lambda row: row["id"], is_whole=True),
    ListColumn("Command", lambda row: row["command"], is_whole=True),
    ListColumn("Table", lambda row: row["table"]["name"]),
    ListColumn("State", lambda row: row["state"].replace("_", " "), is_whole=True),
    ListColumn("By", lambda row: row["requested_by"]),
    ListColumn("Requested (UTC)", lambda row: moment(row["requested_at"]), is_whole=True),
    ListColumn("Reason", lambda row: row["reason"]),
]
_EVENTS = [
    ListColumn("When (UTC)", lambda row: moment(row["happened_at"]), is_whole=True),
    ListColumn("Event", lambda row: row["kind"].replace("_", " "), is_whole=True),
    ListColumn("By", lambda row: row["who"]),
    ListColumn("Text", lambda row: shown(row["text"])),
]


@click.group(cls=ListGroup)
def jobs() -> None:
    """List jobs, or show, watch or cancel one. Without a command: the list."""


@jobs.command("list", cls=Act)
@click.option("--state", metavar="STATE", help="A state, or open for all that haven't ended.")
@click.option("--command", metavar="COMMAND", help="delete, convert, restore, …")
@click.option("--table", metavar="TABLE", help="A name, a path or an id.")
@click.option("--by", metavar="NAME", help="The requester.")
@limited
@pass_session
def list_jobs(session: Session, table: str | None, limit: int, **filters: Any) -> None:
    """List jobs, newest first.

    \b
    Examples:
      levee jobs --state awaiting_approval
      levee jobs list --table sales.orders --json
    """
    query = {**filters, "table": table_id(session.api, table) if table else None}
    session.show_list(session.api.pages("/jobs", query, limit_of(limit)), _LIST)


@jobs.command("show", cls=Act)
@click.argument("job", type=JobId())
@pass_session
def show(session: Session, job: str) -> None:
    """Show JOB with its preview, its digest, its decisions and its events.

    \b
    Examples:
      levee jobs show 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11
      levee jobs show 0b6f8f1e
    """
    found = session.api.get(f"/jobs/{job_id(session.api, job)}")
    session.show(found, lambda: _with_events(session, found))


def _with_events(session: Session, job: dict[str, Any]) -> Group:
    events = session.api.pages(f"/jobs/{job['id']}/events", {}, None)["results"]
    return Group(facts(whole(job)), "", listing(_EVENTS, events))


@jobs.command("watch", cls=Act)
@click.argument("job", type=JobId())
@timed
@pass_session
def watch(session: Session, job: str, timeout: float | None) -> int:
    """Follow JOB to its end with a progress bar. The exit code says how it ended.

    \b
    Example:
      levee jobs watch 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --timeout 1h
    """
    return wait_for(session, job_id(session.api, job), has_ended, timeout)


@jobs.command("cancel", cls=Act)
@click.argument("job", type=JobId())
@pass_session
def cancel(session: Session, job: str) -> None:
    """Cancel JOB: your own, or any as an admin.

    A running job may still commit before it stops; `levee wait` says what became of it.

    \b
    Example:
      levee jobs cancel 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11
    """
    cancelled = session.api.post(f"/jobs/{job_id(session.api, job)}/cancel")
    session.show(cancelled, lambda: facts(whole(cancelled)))


@click.command(cls=Act)
@click.argument("job", type=JobId())
@click.option(
    "--for", "wanted", type=click.Choice(["ended", "approved"]), default="ended", show_default=True,
    help="What to wait for.",
)  # fmt: skip
@timed
@pass_session
def wait(session: Session, job: str, wanted: str, timeout: float | None) -> int:
    """Wait until JOB has ended, or with --for approved until it has its approvals.

    \b
    Exit codes: 0 succeeded (or approved), 1 failed, 3 rejected, 4 not yet after --timeout, 7 cancelled, withdrawn,
    expired or stale.

    \b
    Examples:
      levee wait 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --timeout 2h
      levee wait 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --for approved || exit $?
    """
    until = is_approved if wanted == "approved" else has_ended
    return wait_for(session, job_id(session.api, job), until, timeout)
