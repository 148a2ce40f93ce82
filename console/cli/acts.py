"""How every command takes its common options."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from console.cli import profiles
from console.cli.exits import CliError
from console.cli.lookup import JOB_ID
from console.cli.session import Session
from console.cli.words import seconds

F = TypeVar("F", bound=Callable[..., Any])


def pass_session(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function gets the session before its options."""
    return click.make_pass_decorator(Session)(function)


def _server_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        return [name for name in profiles.load().servers if name.startswith(incomplete)]
    except CliError:
        return []


class LocalAct(click.Command):
    """A command that takes --json. Its function gets the session first, by `@pass_session`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += self.common()

    def common(self) -> list[click.Parameter]:
        return [click.Option(["--json", "as_json"], is_flag=True, help="Print JSON for programs.")]

    def invoke(self, ctx: click.Context) -> Any:
        ctx.obj = Session(ctx.params.pop("as_json"), ctx.params.pop("server", None))
        return super().invoke(ctx)


class Act(LocalAct):
    """A command that speaks to a server: --json and --server."""

    def common(self) -> list[click.Parameter]:
        server = click.Option(
            ["--server"],
            metavar="NAME",
            help="A server that you are signed in to.",
            shell_complete=_server_names,
        )
        return [server, *super().common()]


class ListGroup(click.Group):
    """A group that lists its objects when no command is named: `levee jobs --state open`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # While a shell asks how the line may go on, nothing after the group's name leaves its commands open.
        if (not args and not ctx.resilient_parsing) or (args and _is_option(args[0], ctx)):
            args = ["list", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Its commands; of options those of the list."""
        if not incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        command = self.commands["list"]
        return command.shell_complete(click.Context(command, ctx, "list"), incomplete)


def _is_option(text: str, context: click.Context) -> bool:
    return text.startswith("-") and text not in context.help_option_names


class Duration(click.ParamType[float]):
    """`90`, `90s`, `30m`, `2h` or `7d`, as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(value) if isinstance(value, int | float) else seconds(value)
        except ValueError:
            self.fail(f"{value!r} is no duration. Write 90s, 30m, 2h or 7d.", param, ctx)


class JobId(click.ParamType[str]):
    """A job's id, or how it begins: eight characters or more, as pages show it."""

    name = "job"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not JOB_ID.fullmatch(value):
            self.fail(f"{value!r} is no job’s id: give all of it, or its first 8 characters or more.", param, ctx)
        return str(value).lower()


def limited(function: F) -> F:
    """--limit of a list; 0 is all."""
    option = click.option(
        "--limit", type=click.IntRange(min=0), default=50, show_default=True, help="How many; 0: all."
    )
    return option(function)


def keyed(function: F) -> F:
    """--idempotency-key of a request: one of its own unless told."""
    text = "Repeating a request with the same key answers with the same job. Default: a new key."
    return click.option(
        "--idempotency-key", "key", metavar="KEY", default=lambda: str(uuid.uuid4()), callback=_key, help=text
    )(function)


def _key(context: click.Context, parameter: click.Parameter, key: str) -> str:
    """Raises BadParameter for an empty key, which no request would carry: a variable that a script forgot to set."""
    if not key.strip():
        raise click.BadParameter("The key is empty. Leave the option out for a new key.")
    return key


def reasoned(function: F) -> F:
    """--reason, which every request has."""
    return click.option("--reason", required=True, metavar="TEXT", help="Why; approvers and the audit log read it.")(
        function
    )


def waiting(function: F) -> F:
    """--wait, --timeout and --id of a request."""
    wait = click.option("--wait", is_flag=True, help="Wait until the job has ended; the exit code says how.")
    alone = click.option("--id", "id_alone", is_flag=True, help="Print the job's id alone, for scripts.")
    return wait(timed(alone(function)))


def timed(function: F) -> F:
    """--timeout of a wait, in seconds."""
    text = "Stop waiting after this time, with exit code 4: 90s, 30m, 2h, 7d."
    return click.option("--timeout", type=Duration(), metavar="TIME", help=text)(function)


def limit_of(limit: int) -> int | None:
    return limit or None
