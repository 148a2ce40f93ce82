"""Decisions on other people's requests. One decides on a digest: on exactly what was shown."""

from __future__ import annotations

import sys
from typing import Any

import click

from console.cli.acts import Act, JobId, pass_session
from console.cli.exits import CliError, Exit
from console.cli.lookup import job_id
from console.cli.reviews import review, summary
from console.cli.session import Session, facts, printer


@click.command(cls=Act)
@click.argument("job", type=JobId())
@click.option("--digest", metavar="DIGEST", help="Approve only if this is still the job's digest.")
@click.option("--comment", default="", metavar="TEXT")
@click.option("--yes", is_flag=True, help="Don't ask.")
@pass_session
def approve(session: Session, job: str, digest: str | None, comment: str, yes: bool) -> None:
    """Approve the request JOB of another person.

    Shows what you approve (table, rows, files, consequences, digest) and asks. The approval holds for this digest alone: if the
    request changes meanwhile, nothing is approved. Your token needs the scope `approve`.

    In a script, give --yes, and --digest with the digest that you reviewed.

    \b
    Examples:
      levee approve 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11
      levee approve 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --digest "$DIGEST" --yes
    """
    found = _reviewed(session, job, digest)
    ask(yes, "Approve this?")
    _decide(session, found, "approve", comment)


@click.command(cls=Act)
@click.argument("job", type=JobId())
@click.option("--reason", required=True, metavar="TEXT", help="The requester reads it.")
@click.option("--digest", metavar="DIGEST", help="Reject only if this is still the job's digest.")
@pass_session
def reject(session: Session, job: str, reason: str, digest: str | None) -> None:
    """Reject the request JOB of another person. One rejection ends it, even when it is approved and not yet running.

    \b
    Example:
      levee reject 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --reason "these rows are needed until March"
    """
    _decide(session, _reviewed(session, job, digest), "reject", reason)


def _reviewed(session: Session, job: str, digest: str | None) -> dict[str, Any]:
    """The job as it is now, shown on standard error. Raises CliError without a digest, or with another one."""
    found: dict[str, Any] = session.api.get(f"/jobs/{job_id(session.api, job)}")
    if found["digest"] is None:
        text = f"There is nothing to decide yet: {found['state_text']} Wait for the preview: levee jobs watch {found['id']}"
        raise CliError(Exit.REFUSED, f"{text} [wrong_state]")
    printer(sys.stderr).print(facts(review(found)))
    require_digest(found, digest)
    return found


def require_digest(found: dict[str, Any], digest: str | None) -> None:
    """Raises CliError REFUSED if what is to be decided about no longer has the digest that was given, if one was."""
    if digest is not None and digest != found["digest"]:
        text = f"The digest is {found['digest']} now. Nothing was decided; review it again. [stale]"
        raise CliError(Exit.REFUSED, text)


def ask(yes: bool, question: str) -> None:
    """Asks for consent on a terminal unless `yes`. Raises CliError."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise CliError(Exit.USAGE, "This asks before it approves, and there is no terminal. Give --yes.")
    if not click.confirm(question, err=True):
        raise CliError(Exit.INTERRUPTED, "Nothing was approved.")


def _decide(session: Session, job: dict[str, Any], decision: str, comment: str) -> None:
    """On the digest that was shown: the server refuses it as stale once it is another one."""
    decided = session.api.post(f"/jobs/{job['id']}/{decision}", {"digest": job["digest"], "comment": comment})
    session.show(decided, lambda: facts(summary(decided)))
