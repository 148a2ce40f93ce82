"""The program `levee`: its commands, and how a trouble ends it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click
import httpx

from console.cli.commands import audit, decisions, jobs, previews, requests, schedules, servers, streams, tables
from console.cli.exits import Exit
from console.cli.requesting import of_commands
from console.cli.version import version
from console.cli.words import plain


class _ReaderLeft(Exception):
    """Nobody reads the output any more."""


@contextmanager
def _before_click() -> Iterator[None]:
    """Click itself would end a closed pipe with 1, which means a failed job."""
    try:
        yield
    except BrokenPipeError:
        raise _ReaderLeft from None


class CommandLine(click.Group):
    """Ends with the exit codes of docs/cli.md; a trouble is one line on standard error."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Runs, and ends the process."""
        try:
            code = self._run(*args, **{"prog_name": "levee", **extra, "standalone_mode": False})
            sys.stdout.flush()
        except (_ReaderLeft, BrokenPipeError):
            code = Exit.PIPE_CLOSED
        except OSError as trouble:
            code = _broken(trouble)
        _let_go()
        sys.exit(code)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _before_click():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _before_click():
            return super().invoke(ctx)

    def _run(self, *args: Any, **extra: Any) -> int:
        try:
            code = super().main(*args, **extra)
        except click.ClickException as trouble:
            trouble.show()
            return trouble.exit_code
        except click.Abort:
            click.echo("levee: stopped.", err=True)
            return Exit.INTERRUPTED
        except (ValueError, LookupError, TypeError, AttributeError, httpx.InvalidURL) as trouble:
            # Of an answer that has another shape than Levee's.
            return _broken(trouble)
        return code if isinstance(code, int) else Exit.DONE


def _broken(trouble: Exception) -> Exit:
    text = trouble.strerror or "" if isinstance(trouble, OSError) else str(trouble)
    place = f" ({trouble.filename})" if isinstance(trouble, OSError) and trouble.filename else ""
    with suppress(OSError):
        click.echo(plain(f"levee: The program can't go on: {type(trouble).__name__}: {text}{place}"), err=True)
    return Exit.BROKEN


def _let_go() -> None:
    """What can't be written is dropped: Python would try again at its end, and exit with a code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        click.echo(f"levee {version()}")
        context.exit()


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the version of this program and exit.",
)
def levee() -> None:
    """Levee from the command line: tables, deletes with their reviews, jobs, streams, schedules and the audit log.

    \b
    Sign in once:
      levee sign-in https://levee.example.org
    In a pipeline, set LEVEE_URL and LEVEE_TOKEN instead.

    Data goes to standard output, everything else to standard error. Each command has --json and --help.
    """


def with_commands(group: click.Group) -> click.Group:
    """The group with every command of the program, those that ask for a job from their own packages."""
    parts = list(of_commands())
    for command in (
        servers.sign_in, servers.sign_out, servers.whoami, servers.servers,
        tables.tables, tables.table, tables.favourite, tables.history,
        previews.preview, *(request for part in parts for request in part.REQUESTS), requests.undo,
        decisions.approve, decisions.reject,
        jobs.jobs, jobs.wait, streams.streams, schedules.schedules, audit.audit, servers.completion,
    ):  # fmt: skip
        group.add_command(command)
    for part in parts:
        for preview in getattr(part, "PREVIEWS", ()):
            previews.preview.add_command(preview)
    return group


with_commands(levee)


def main() -> None:
    """The entry of the executable."""
    _ready_streams()
    levee.main()


def _ready_streams() -> None:
    """A stream that was closed before the start leads nowhere, and a character that an output lacks becomes `?`: no job fails by that."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
