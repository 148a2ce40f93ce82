"""Signing in and out, and which server commands use."""

from __future__ import annotations

import getpass
import sys

import click
from click.shell_completion import get_completion_class

from console.cli import profiles
from console.cli.acts import Act, LocalAct, pass_session
from console.cli.client import Api
from console.cli.exits import CliError, Exit
from console.cli.profiles import Server
from console.cli.session import Column, Session, facts
from console.cli.words import moment, shown


@click.command("sign-in", cls=LocalAct)
@click.argument("url")
@click.option("--name", metavar="NAME", help="What you call this server. Default: its host.")
@pass_session
def sign_in(session: Session, url: str, name: str | None) -> None:
    """Sign in to the server at URL with a token.

    The token is read from standard input, or asked for in a terminal: never an argument, which other users of the
    machine could see. Create one on the page of your account. It is stored in ~/.config/levee, readable by you alone, and
    the server becomes the current one.

    \b
    Examples:
      levee sign-in https://levee.example.org
      levee sign-in https://levee.example.org --name production < token
    """
    address = profiles.address_of(url)
    server = Server(name or profiles.name_of(address), address, _token())
    who = Api(server, session.note).get("/me")
    profiles.save(profiles.load().with_server(server))
    session.show(who, lambda: facts([("Signed in", f"to {server.url} as {who['name']}"), ("Server", server.name)]))


def _token() -> str:
    text = (getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not profiles.is_token(text):
        raise CliError(Exit.USAGE, "Give a token on standard input: levee sign-in URL < FILE.")
    return text


@click.command("sign-out", cls=LocalAct)
@click.argument("name", required=False)
@pass_session
def sign_out(session: Session, name: str | None) -> None:
    """Forget the token of the server NAME, by default of the current one.

    The server still accepts the token: revoke it on the page of your account.

    \b
    Examples:
      levee sign-out
      levee sign-out production
    """
    known = profiles.load()
    wanted = name or known.current
    if wanted is None:
        raise CliError(Exit.NOT_ALLOWED, "You aren't signed in.")
    server = known.named(wanted)
    profiles.save(known.without(wanted))
    session.show({"signed_out": wanted}, lambda: f"Signed out of {server.url}.")


@click.command(cls=Act)
@pass_session
def whoami(session: Session) -> None:
    """Show who you are on the server, your roles, and what your token may do.

    \b
    Example:
      levee whoami
    """
    who = session.api.get("/me")
    token = who["token"]
    session.show(
        who,
        lambda: facts(
            [
                ("Name", who["name"]),
                ("Server", session.server.url),
                ("Roles", ", ".join(f"{one['role']} on {one['on']}" for one in who["grants"]) or "none"),
                ("Token", token["label"] if token else "none"),
                ("Scopes", shown(token["scopes"]) if token else "none"),
                ("Expires", f"{moment(token['expires_at'])} UTC" if token else "never"),
            ]
        ),
    )


@click.command(cls=LocalAct)
@click.option("--use", metavar="NAME", help="Make this server the current one.")
@pass_session
def servers(session: Session, use: str | None) -> None:
    """List the servers that you are signed in to, or choose the current one.

    Every command takes --server NAME for another one; LEVEE_SERVER names it in the environment.

    \b
    Examples:
      levee servers
      levee servers --use production
    """
    known = profiles.load()
    if use:
        known = known.using(use)
        profiles.save(known)
    rows = [{"name": one.name, "url": one.url, "current": one.name == known.current} for one in known.servers.values()]
    page = {"results": rows, "next": None, "previous": None}
    session.show_list(
        page,
        [
            Column("Server", lambda row: row["name"], is_whole=True),
            Column("Address", lambda row: row["url"]),
            Column("Current", lambda row: "yes" if row["current"] else ""),
        ],
    )


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in your shell.

    \b
    Examples:
      echo 'eval "$(levee completion bash)"' >> ~/.bashrc
      echo 'eval "$(levee completion zsh)"' >> ~/.zshrc
      levee completion fish > ~/.config/fish/completions/levee.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise CliError(Exit.USAGE, f"There is no completion for {shell}.")
    click.echo(kind(context.find_root().command, {}, "levee", "_LEVEE_COMPLETE").source())
