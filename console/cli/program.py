"""The program `levee`: its commands, and how a trouble ends it."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from console.cli.commands import audit, decisions, jobs, previews, requests, servers, streams, tables
from console.cli.exits import Exit

PIPE_CLOSED = 141  # as the shell counts a program that its reader has left


class Program(click.Group):
    """Ends with the exit codes of docs/cli.md; a trouble is one line on standard error."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs, and ends the process."""
        try:
            code = super().main(*args, **{"prog_name": "levee", **extra, "standalone_mode": False})
            sys.stdout.flush()
        except click.ClickException as trouble:
            trouble.show()
            code = trouble.exit_code
        except click.Abort:
            click.echo("levee: stopped.", err=True)
            code = Exit.INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at the end
            code = PIPE_CLOSED
        sys.exit(code if isinstance(code, int) else Exit.DONE)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def levee() -> None:
    """Levee from the command line: tables, deletes with their reviews, jobs, streams and the audit log.

    \b
    Sign in once:
      levee sign-in https://levee.example.org
    In a pipeline, set LEVEE_URL and LEVEE_TOKEN instead.

    Data goes to standard output, everything else to standard error. Each command has --json and --help.
    """


for command in (
    servers.sign_in, servers.sign_out, servers.whoami, servers.servers,
    tables.tables, tables.table, tables.history,
    previews.preview, requests.delete, requests.convert, requests.restore, requests.undo,
    decisions.approve, decisions.reject,
    jobs.jobs, jobs.wait, streams.streams, audit.audit, servers.completion,
):  # fmt: skip
    levee.add_command(command)


def main() -> None:
    """The entry of the executable."""
    levee.main()
