"""Signing in and out, and which server commands use."""

from __future__ import annotations

import getpass
import os
import sys
from contextlib import suppress
from http import HTTPStatus

import click
from click.shell_completion import get_completion_class

from console.cli import profiles
from console.cli.acts import Act, LocalAct, pass_session
from console.cli.browser_sign_in import token_by_browser
from console.cli.client import Api
from console.cli.exits import CliError, Exit
from console.cli.problems import RefusedByServer
from console.cli.profiles import ServerProfile
from console.cli.session import ListColumn, Session, facts
from console.cli.words import moment, shown

OWN_TOKEN = "/me/token"
SCOPES = ("read", "request", "approve", "admin")


@click.command("sign-in", cls=LocalAct)
@click.argument("url", required=False)
@click.option("--server", "address", metavar="URL", help="The same as URL.")
@click.option("--name", metavar="NAME", help="What you call this server. Default: its host.")
@click.option("--browser", is_flag=True, help="Confirm a code in a browser, also where this is no terminal.")
@click.option("--token", "by_token", is_flag=True, help="Ask for a token instead, or read it from standard input.")
@click.option(
    "--scope", "scopes", type=click.Choice(SCOPES), multiple=True, help="Repeat it. Default: read and request."
)
@click.option("--open", "opens", is_flag=True, help="Open the address in this machine's browser.")
@pass_session
def sign_in(
    session: Session,
    url: str | None,
    address: str | None,
    name: str | None,
    browser: bool,
    by_token: bool,
    scopes: tuple[str, ...],
    opens: bool,
) -> None:
    """Sign in to the server at URL, by default to the current one again.

    In a terminal you get an address and a short code: open the address in a browser where you are signed in, on any machine,
    enter the code, and confirm. The program then has a token of yours, named after this machine, for 90 days; it is on the
    page of your API tokens, where you can revoke it.

    With --token, or when standard input is no terminal, the program takes a token that you have instead: never an argument,
    which other users of the machine could see.

    The token is stored in ~/.config/levee, readable by you alone, and the server becomes the current one.

    \b
    Examples:
      levee sign-in https://levee.example.org
      levee sign-in https://levee.example.org --scope read --scope approve
      levee sign-in https://levee.example.org --name production < token
    """
    if by_token and (browser or scopes or opens):
        raise CliError(
            Exit.USAGE, "A token that you have has its scopes already, and needs no browser: leave --token out."
        )
    place = profiles.address_of(_place(url, address))
    known = profiles.load()
    label = name or profiles.name_of(place)
    own = not by_token and (browser or opens or bool(scopes) or sys.stdin.isatty())
    token = token_by_browser(session, ServerProfile(label, place, ""), scopes, opens) if own else _token()
    earlier = known.servers.get(label)
    stays_own = earlier is not None and earlier.own and earlier.token == token
    server = ServerProfile(label, place, token, own or stays_own)
    who = Api(server, session.note).get("/me")
    profiles.save(known.with_server(server))
    _replace(session, earlier, server)
    session.show(who, lambda: facts([("Signed in", f"to {server.url} as {who['name']}"), ("Server", server.name)]))


def _place(url: str | None, address: str | None) -> str:
    """The address that was given; by default that of the current server."""
    if url and address:
        raise CliError(Exit.USAGE, "Give the server's address once.")
    given = url or address or os.environ.get("LEVEE_URL")
    if given:
        return given
    known = profiles.load()
    wanted = os.environ.get("LEVEE_SERVER") or known.current
    if wanted is None:
        raise CliError(Exit.USAGE, "Name the server: levee sign-in URL.")
    return known.named(wanted).url


def _token() -> str:
    text = (getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not profiles.is_token(text):
        raise CliError(
            Exit.USAGE,
            "Give a token on standard input: levee sign-in URL < FILE. Or use a browser: levee sign-in URL --browser.",
        )
    return text


def _replace(session: Session, earlier: ServerProfile | None, server: ServerProfile) -> None:
    """The token that an earlier sign-in made for this program isn't needed any more."""
    if earlier and earlier.own and earlier.url == server.url and earlier.token != server.token:
        with suppress(CliError):
            Api(earlier, session.note).delete(OWN_TOKEN)


@click.command("sign-out", cls=LocalAct)
@click.argument("name", required=False)
@click.option("--revoke", is_flag=True, help="Revoke the token, also one that you gave the program yourself.")
@click.option("--forget", is_flag=True, help="Only forget the token here, without asking the server.")
@pass_session
def sign_out(session: Session, name: str | None, revoke: bool, forget: bool) -> None:
    """Sign out of the server NAME, by default of the current one: revoke the token that the sign-in made, and forget it.

    A token that you gave the program yourself may be in use elsewhere: it is forgotten here, and revoked only with --revoke.

    \b
    Examples:
      levee sign-out
      levee sign-out production
    """
    if revoke and forget:
        raise CliError(Exit.USAGE, "Give one of --revoke and --forget.")
    known = profiles.load()
    wanted = name or known.current
    if wanted is None:
        raise CliError(Exit.NOT_ALLOWED, "You aren't signed in.")
    server = known.named(wanted)
    revoked = not forget and (server.own or revoke) and _revoked(session, server)
    profiles.save(known.without(wanted))
    end = "its token is revoked" if revoked else "its token still works: revoke it on the page of your API tokens"
    session.show({"signed_out": wanted, "revoked": revoked}, lambda: f"Signed out of {server.url}; {end}.")


def _revoked(session: Session, server: ServerProfile) -> bool:
    """Ends the token on the server; one that works no more is ended already. Raises CliError when that can't be known."""
    try:
        Api(server, session.note).delete(OWN_TOKEN)
    except RefusedByServer as problem:
        if problem.status != HTTPStatus.UNAUTHORIZED:
            raise
    except CliError as trouble:
        text = f"{trouble.message} The token may still work, so it isn't forgotten; levee sign-out --forget does that."
        raise CliError(Exit(trouble.exit_code), text) from None
    return True


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
            ListColumn("Server", lambda row: row["name"], is_whole=True),
            ListColumn("Address", lambda row: row["url"]),
            ListColumn("Current", lambda row: "yes" if row["current"] else ""),
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
