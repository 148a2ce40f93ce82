"""Schedules: the list, one of them and its runs, defining, deciding about, pausing, resuming and removing one."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from console.cli.acts import Act, ListGroup, keyed, limit_of, limited, pass_session, reasoned
from console.cli.commands.decisions import ask, require_digest
from console.cli.exits import CliError, Exit
from console.cli.lookup import root_id, schedule_id, table_id
from console.cli.session import ListColumn, Session, facts, printer
from console.cli.words import moment, shown

_LIST = [
    ListColumn("Schedule", lambda row: row["name"]),
    ListColumn("State", lambda row: row["state"].replace("_", " "), is_whole=True),
    ListColumn("Command", lambda row: row["command"]["command"].replace("_", " ")),
    ListColumn("On", lambda row: row["runs_on"]),
    ListColumn("When", lambda row: f"{row['cron']} {row['time_zone']}"),
    ListColumn("Next run (UTC)", lambda row: moment(row["next_run_at"]), is_whole=True),
    ListColumn("What it says", lambda row: row["state_text"]),
]
_RUNS = [
    ListColumn("Due (UTC)", lambda row: moment(row["due_at"]), is_whole=True),
    ListColumn("Table", lambda row: row["table_name"]),
    ListColumn("Outcome", lambda row: "planned" if row["is_planned"] else shown(row["outcome"]), is_whole=True),
    ListColumn("Job", lambda row: shown(row["job"])),
    ListColumn("What it says", lambda row: row["text"]),
]


@click.group(cls=ListGroup)
def schedules() -> None:
    """List schedules, or show, define, approve, reject, pause, resume or remove one. SCHEDULE is a name or an id."""


@schedules.command("list", cls=Act)
@limited
@pass_session
def list_schedules(session: Session, limit: int) -> None:
    """List the schedules that you may see, by name.

    \b
    Example:
      levee schedules
    """
    session.show_list(session.api.pages("/schedules", {}, limit_of(limit)), _LIST)


@schedules.command("show", cls=Act)
@click.argument("schedule")
@pass_session
def show(session: Session, schedule: str) -> None:
    """Show SCHEDULE.

    \b
    Example:
      levee schedules show nightly --json
    """
    _show(session, session.api.get(f"/schedules/{schedule_id(session.api, schedule)}"))


def _show(session: Session, found: dict[str, Any]) -> None:
    session.show(found, lambda: facts(_pairs(found)))


def _pairs(found: dict[str, Any]) -> list[tuple[str, str]]:
    command, bounds = dict(found["command"]), found["bounds"]
    said = {name: value for name, value in command.items() if name not in ("command", "table") and value is not None}
    approvals = [f"{each['decision']} by {each['by']}" for each in found["approvals"] if each["voided_at"] is None]
    return [
        ("Schedule", found["name"]), ("Id", found["id"]), ("State", found["state"].replace("_", " ")),
        ("Since", f"{moment(found['state_since'])} UTC"), ("What it says", found["state_text"] or "nothing"),
        ("Command", command["command"].replace("_", " ")), ("On", _where(found)),
        ("With", json.dumps(said) if said else "nothing else"), ("When", f"{found['cron']} {found['time_zone']}"),
        ("Next runs", ", ".join(f"{moment(each)} UTC" for each in found["next_runs"][:3]) or "none"),
        ("Window", f"{found['window_minutes']:,} minutes"),
        ("Bounds", ", ".join(f"{name} {value:,}" for name, value in bounds.items() if value is not None) or "none"),
        ("Approvals", f"{found['policy']['required_approvals']} needed; {', '.join(approvals) or 'none given'}"),
        ("Digest", found["digest"]), ("Runs for", found["run_by"]), ("Reason", found["reason"]),
    ]  # fmt: skip


def _where(found: dict[str, Any]) -> str:
    return found["runs_on"] if found["table"] else f"{found['runs_on']} that are there when a run is due"


@schedules.command("runs", cls=Act)
@click.argument("schedule")
@limited
@pass_session
def runs(session: Session, schedule: str, limit: int) -> None:
    """List the runs of SCHEDULE, newest first.

    \b
    Example:
      levee schedules runs nightly --limit 0 --json
    """
    path = f"/schedules/{schedule_id(session.api, schedule)}/runs"
    session.show_list(session.api.pages(path, {}, limit_of(limit)), _RUNS)


@schedules.command("create", cls=Act)
@click.argument("name")
@click.argument("command")
@click.option("--table", metavar="TABLE", help="On one table: its name, path or id.")
@click.option("--root", metavar="ROOT", help="On all tables of a root: its name or id.")
@click.option("--tag", metavar="TAG", help="On all tables that have the tag when a run is due.")
@click.option(
    "--with", "values", default="{}", metavar="JSON", help="The command's values, as `POST /jobs` takes them."
)
@click.option("--cron", required=True, metavar="EXPRESSION", help="Minute, hour, day of month, month, day of week.")
@click.option("--zone", required=True, metavar="ZONE", help="Of the expression: Europe/Berlin, or UTC.")
@click.option("--window", required=True, type=click.IntRange(min=1), metavar="MINUTES", help="A later run is skipped.")
@click.option("--max-bytes", type=click.IntRange(min=1), metavar="BYTES", help="Of a run, by its preview.")
@click.option("--max-minutes", type=click.IntRange(min=1), metavar="MINUTES", help="Of a run.")
@reasoned
@keyed
@pass_session
def create(session: Session, name: str, command: str, **asked: Any) -> None:
    """Define the schedule NAME of COMMAND, on one table or many. It is active once it has the approvals that the rules ask for.

    \b
    Examples:
      levee schedules create nightly optimize --table sales --cron "30 3 * * *" --zone UTC --window 120 --reason "many files"
      levee schedules create old vacuum --tag gold --with '{"retention_hours": 720}' --cron "0 4 * * 0" --zone UTC --window 99 --reason cost
    """
    where = [each for each in ("table", "root", "tag") if asked[each]]
    if len(where) != 1:
        raise CliError(Exit.USAGE, "Give one of --table, --root and --tag.")
    body: dict[str, Any] = {
        "name": name, "command": {**_values(asked["values"]), "command": command.replace("-", "_")},
        "cron": asked["cron"], "time_zone": asked["zone"], "window_minutes": asked["window"],
        "bounds": {"max_bytes": asked["max_bytes"], "max_minutes": asked["max_minutes"]}, "reason": asked["reason"],
    }  # fmt: skip
    if asked["table"]:
        body["command"]["table"] = table_id(session.api, asked["table"])
    else:
        body["on"] = {"root": root_id(session.api, asked["root"])} if asked["root"] else {"tag": asked["tag"]}
    _show(session, session.api.post("/schedules", body, key=asked["key"]))


def _values(text: str) -> dict[str, Any]:
    """Raises CliError USAGE."""
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise CliError(Exit.USAGE, '--with takes a JSON object, as {"retention_hours": 720}.')
    return values


@schedules.command("approve", cls=Act)
@click.argument("schedule")
@click.option("--digest", metavar="DIGEST", help="Approve only if this is still the schedule's digest.")
@click.option("--comment", default="", metavar="TEXT")
@click.option("--yes", is_flag=True, help="Don't ask.")
@pass_session
def approve(session: Session, schedule: str, digest: str | None, comment: str, yes: bool) -> None:
    """Approve SCHEDULE of another person: this definition, and every run of it. Your token needs the scope `approve`.

    \b
    Example:
      levee schedules approve nightly --digest "$DIGEST" --yes
    """
    found = _reviewed(session, schedule, digest)
    ask(yes, "Approve this?")
    _decide(session, found, "approve", comment)


@schedules.command("reject", cls=Act)
@click.argument("schedule")
@click.option("--reason", required=True, metavar="TEXT", help="Whoever defined it reads it.")
@click.option("--digest", metavar="DIGEST", help="Reject only if this is still the schedule's digest.")
@pass_session
def reject(session: Session, schedule: str, reason: str, digest: str | None) -> None:
    """Reject SCHEDULE of another person. One rejection stops it, even when it is active.

    \b
    Example:
      levee schedules reject nightly --reason "the window is in our working hours"
    """
    _decide(session, _reviewed(session, schedule, digest), "reject", reason)


def _reviewed(session: Session, schedule: str, digest: str | None) -> dict[str, Any]:
    """The schedule as it is now, shown on standard error. Raises CliError with another digest."""
    found: dict[str, Any] = session.api.get(f"/schedules/{schedule_id(session.api, schedule)}")
    printer(sys.stderr).print(facts(_pairs(found)))
    require_digest(found, digest)
    return found


def _decide(session: Session, found: dict[str, Any], decision: str, comment: str) -> None:
    """On the digest that was shown: the server refuses it as stale once it is another one."""
    body = {"digest": found["digest"], "comment": comment}
    _show(session, session.api.post(f"/schedules/{found['id']}/{decision}", body))


@schedules.command("pause", cls=Act)
@click.argument("schedule")
@pass_session
def pause(session: Session, schedule: str) -> None:
    """Pause SCHEDULE: no run is opened, and one that waits for a worker is ended.

    \b
    Example:
      levee schedules pause nightly
    """
    _show(session, session.api.post(f"/schedules/{schedule_id(session.api, schedule)}/pause"))


@schedules.command("resume", cls=Act)
@click.argument("schedule")
@pass_session
def resume(session: Session, schedule: str) -> None:
    """Resume SCHEDULE, from its next time on, while what was approved still holds.

    \b
    Example:
      levee schedules resume nightly
    """
    _show(session, session.api.post(f"/schedules/{schedule_id(session.api, schedule)}/resume"))


@schedules.command("remove", cls=Act)
@click.argument("schedule")
@pass_session
def remove(session: Session, schedule: str) -> None:
    """Remove SCHEDULE. Its runs and the audit stay.

    \b
    Example:
      levee schedules remove nightly
    """
    session.api.delete(f"/schedules/{schedule_id(session.api, schedule)}")
    session.note("Removed. Its runs and the audit stay.")
