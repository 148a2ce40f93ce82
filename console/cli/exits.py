"""How the program ends: numbers that pipelines rely on. Documented in docs/cli.md; a number never changes its meaning."""

from __future__ import annotations

from enum import IntEnum

import click

from console.cli.words import plain


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REJECTED = 3
    TIMED_OUT = 4
    NOT_ALLOWED = 5
    UNREACHABLE = 6
    NOT_RUN = 7
    REFUSED = 8
    NOT_FOUND = 9
    BROKEN = 10
    INTERRUPTED = 130
    PIPE_CLOSED = 141  # as the shell counts a program that its reader has left


MEANING = {
    Exit.DONE: "Done. Of a wait: the job succeeded, or was approved with `--for approved`.",
    Exit.FAILED: "The job failed.",
    Exit.USAGE: "Wrong use: an unknown option, a missing argument, or a question that needs a terminal.",
    Exit.REJECTED: "An approver rejected the job.",
    Exit.TIMED_OUT: "The time of `--timeout` ended first. The job goes on.",
    Exit.NOT_ALLOWED: "You aren't signed in, or your roles or the token's scopes don't allow this.",
    Exit.UNREACHABLE: "The server can't be reached, is too busy or broken. Try again later.",
    Exit.NOT_RUN: "The job ended without a run to its end: cancelled, withdrawn, expired or stale.",
    Exit.REFUSED: "Levee or Delta refused the request. The line on stderr ends with the code.",
    Exit.NOT_FOUND: "There is no such object, you don't have access, or the name fits several.",
    Exit.BROKEN: "The program failed on this machine: a full disk, say, or an answer that it can't make sense of.",
    Exit.INTERRUPTED: "You stopped the program, or answered no.",
    Exit.PIPE_CLOSED: "Whatever read the output has closed it, such as `head`.",
}

_OF_STATE = {
    "succeeded": Exit.DONE,
    "failed": Exit.FAILED,
    "rejected": Exit.REJECTED,
}


def of_ended(state: str) -> Exit:
    """The exit of a job that has ended in this state; an end that only a later server knows counts as one without a run."""
    return _OF_STATE.get(state, Exit.NOT_RUN)


class CliError(click.ClickException):
    """What stops a command: one line for a person, and how the program ends."""

    def __init__(self, exit_code: Exit, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class, and reads it of the instance

    def show(self, file: object = None) -> None:
        click.echo(plain(f"levee: {self.format_message()}"), err=True)
