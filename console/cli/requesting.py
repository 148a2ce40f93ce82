"""How a command's own file on the command line asks for its job, and names its parts: `jobs/commands/*/cli.py`."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

import click

from console.cli.acts import Duration, keyed, reasoned, waiting
from console.cli.following import has_ended
from console.cli.lookup import table_id
from console.cli.reviews import summary
from console.cli.session import Session, facts
from console.cli.waits import wait_for

F = TypeVar("F", bound=Callable[..., Any])
COMMANDS = "jobs.commands"  # a package for each command
ANSWER_S = 300.0


def of_commands() -> Iterator[ModuleType]:
    """The command line's part of each command that has one: `REQUESTS` (what asks for it) and, perhaps, `PREVIEWS`."""
    rooms = importlib.import_module(COMMANDS)
    for found in pkgutil.iter_modules(rooms.__path__):
        if found.ispkg and importlib.util.find_spec(part := f"{COMMANDS}.{found.name}.cli"):
            yield importlib.import_module(part)


def requested(function: F) -> F:
    """The options that every request has: its reason, its key, whether to wait."""
    return reasoned(keyed(waiting(function)))


def rehearsed(function: F) -> F:
    """--rehearse of a request that can run on a clone first."""
    text = "Run it first on a private shallow clone: the preview then shows what came of it."
    return click.option("--rehearse", is_flag=True, help=text)(function)


def timed_answer(function: F) -> F:
    """--timeout of a preview."""
    text = "How long a worker may take to answer. Default: 5m."
    return click.option("--timeout", type=Duration(), default=ANSWER_S, metavar="TIME", help=text)(function)


def open_for_table(session: Session, command: str, table: str, values: dict[str, Any], asked: dict[str, Any]) -> int:
    """Opens a job of the command on a table, by its name, path or id; `asked` are the options of `requested`, and of `rehearsed` for a
    command that has it. The exit code."""
    rest = dict(asked)
    wish = {"rehearse": True} if rest.pop("rehearse", False) else {}
    body = {"command": command, "table": table_id(session.api, table), **values, **wish}
    return opened(session, "/jobs", body, **rest)


def opened(
    session: Session,
    path: str,
    body: dict[str, Any],
    *,
    reason: str,
    key: str,
    wait: bool,
    timeout: float | None,
    id_alone: bool,
) -> int:
    """Opens the job and shows it; with `wait`, once it has ended. The exit code."""
    job = session.api.post(path, body | {"reason": reason}, key=key)
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
