"""The undo of any command's job; what asks for a job lies with its command (`console.cli.requesting`)."""

from __future__ import annotations

from typing import Any

import click

from console.cli.acts import Act, JobId, pass_session
from console.cli.lookup import job_id
from console.cli.requesting import opened, requested
from console.cli.session import Session


@click.command(cls=Act)
@click.argument("job", type=JobId())
@click.option(
    "--accept-commit", "commits", multiple=True, type=click.IntRange(min=0), metavar="VERSION",
    help="A later commit that the undo may undo as well; repeat it for several.",
)  # fmt: skip
@requested
@pass_session
def undo(session: Session, job: str, commits: tuple[int, ...], **asked: Any) -> int:
    """Request the undo of the finished JOB: a restore of the version before its commit, with its own review.

    \b
    Examples:
      levee undo 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --reason "wrong customer"
      levee undo 0b6f8f1e-6a1c-4c4e-9d43-5a1a0f0c7c11 --accept-commit 14 --reason "wrong customer"
    """
    path = f"/jobs/{job_id(session.api, job)}/undo"
    return opened(session, path, {"accept_commits": list(commits)}, **asked)
