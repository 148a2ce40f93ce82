"""Signing in by a browser: the program shows an address and a short code, and waits until a person has confirmed it there."""

from __future__ import annotations

import socket
import time
import webbrowser
from collections.abc import Sequence
from typing import Any

from console.cli.client import Api
from console.cli.exits import CliError, Exit
from console.cli.profiles import ServerProfile, is_token
from console.cli.session import Session
from console.cli.words import plain

LONGEST_S = 11 * 60.0  # whatever the server says: a code holds for ten minutes
INTERVALS_S = (0.2, 10.0)  # between two questions, at least and at most
DENIED = "The sign-in was denied in the browser. Nothing was stored."
EXPIRED = "Nobody confirmed the code in time. Ask for another one: levee sign-in {url}."


def token_by_browser(session: Session, server: ServerProfile, scopes: Sequence[str], opens: bool) -> str:
    """A token of the person who confirms the code. Raises CliError when they deny it, or nobody does."""
    api = Api(server, session.note)
    begun = api.post("/sign-ins", {"machine": machine_name(), **({"scopes": list(scopes)} if scopes else {})})
    token, address = str(begun["token"]), plain(str(begun["confirm_url"]))
    if not is_token(token) or not address.startswith(("https://", "http://")):  # a browser would open more than that
        raise CliError(Exit.UNREACHABLE, f"{server.url} answered, but not as Levee answers. Check the address.")
    session.note(
        f"Open {address}\nand enter the code {plain(str(begun['code']))}. It holds for ten minutes, and is for you alone."
    )
    if opens:
        webbrowser.open(address)
    _wait(api, begun)
    return token


def _wait(api: Api, begun: dict[str, Any]) -> None:
    low, high = INTERVALS_S
    pause = min(max(float(begun["interval_seconds"]), low), high)
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        match api.get(f"/sign-ins/{begun['id']}", end=end)["state"]:
            case "granted":
                return
            case "denied":
                raise CliError(Exit.NOT_ALLOWED, DENIED)
            case "waiting":
                time.sleep(pause)
            case _:
                break
    raise CliError(Exit.NOT_ALLOWED, EXPIRED.format(url=api.server.url))


def machine_name() -> str:
    """What the person sees in the browser: this machine's name."""
    return plain(socket.gethostname())[:100] or "a machine without a name"
