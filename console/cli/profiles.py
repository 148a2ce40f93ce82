"""The servers you are signed in to: one file of your own, mode 0600. The environment comes first."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from console.cli.exits import CliError, Exit

API = "/api/v1"


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """Where, and as whom. `url` ends without a stroke; below it lies /api/v1. `own`: the token was made by a sign-in, for this program."""

    name: str
    url: str
    token: str
    own: bool = False

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.url).hostname or "")

    @property
    def is_open(self) -> bool:
        """The token would cross a network in clear text."""
        return self.url.startswith("http://") and not self.is_loopback


@dataclass(frozen=True, slots=True)
class Profiles:
    """What the file holds: servers by name, and the one that commands use unless told."""

    servers: Mapping[str, ServerProfile]
    current: str | None = None

    def with_server(self, server: ServerProfile) -> Profiles:
        return Profiles({**self.servers, server.name: server}, server.name)

    def without(self, name: str) -> Profiles:
        left = {other: server for other, server in self.servers.items() if other != name}
        return Profiles(left, self.current if self.current in left else next(iter(left), None))

    def using(self, name: str) -> Profiles:
        return replace(self, current=self.named(name).name)

    def named(self, name: str) -> ServerProfile:
        """Raises CliError for a name that isn't there."""
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise CliError(Exit.NOT_ALLOWED, f"You aren't signed in to a server named {name}. Known servers: {known}.")
        return self.servers[name]


def path() -> Path:
    """`$XDG_CONFIG_HOME/levee/servers.json`, by default below ~/.config."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(base).expanduser() / "levee" / "servers.json"


def load() -> Profiles:
    """The stored servers; none when there is no file. Raises CliError for a file that can't be read."""
    try:
        stored: Any = json.loads(path().read_text())
        servers = {name: _server(name, one) for name, one in stored["servers"].items()}
        return Profiles(servers, stored.get("current"))
    except FileNotFoundError:
        return Profiles({})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CliError(Exit.NOT_ALLOWED, f"{path()} can't be read ({error}). Remove it and sign in again.") from None


def _server(name: str, one: Mapping[str, Any]) -> ServerProfile:
    return ServerProfile(name, str(one["url"]), str(one["token"]), one.get("own") is True)


def save(profiles: Profiles) -> None:
    """Writes the file whole or not at all; only you can read it, from its first byte. Raises CliError."""
    servers = {
        server.name: {"url": server.url, "token": server.token, **({"own": True} if server.own else {})}
        for server in profiles.servers.values()
    }
    try:
        path().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _replace(path(), json.dumps({"current": profiles.current, "servers": servers}, indent=2) + "\n")
    except OSError as error:
        raise CliError(Exit.NOT_ALLOWED, f"{path()} can't be written: {error.strerror}.") from None


def _replace(file: Path, text: str) -> None:
    handle, part = tempfile.mkstemp(dir=file.parent, prefix=".servers-")  # made with mode 0600
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        Path(part).replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            Path(part).unlink()
        raise


def chosen(name: str | None) -> ServerProfile:
    """The server of a command: by `--server`, else of the environment, else the current one. Raises CliError."""
    if name:
        return _usable(load().named(name))
    url, token = os.environ.get("LEVEE_URL"), os.environ.get("LEVEE_TOKEN")
    if url or token:
        return _of_environment(url, token)
    profiles = load()
    wanted = os.environ.get("LEVEE_SERVER") or profiles.current
    if wanted is None:
        raise CliError(Exit.NOT_ALLOWED, "You aren't signed in. Sign in: levee sign-in URL.")
    return _usable(profiles.named(wanted))


def _of_environment(url: str | None, token: str | None) -> ServerProfile:
    """A token never goes to a server that it wasn't given for."""
    if not url:
        raise CliError(Exit.NOT_ALLOWED, "LEVEE_TOKEN is set without LEVEE_URL. Set the server's address as well.")
    address = address_of(url)
    if token:
        return _usable(ServerProfile(name_of(address), address, token.strip()))
    for server in load().servers.values():
        if server.url == address:
            return _usable(server)
    raise CliError(
        Exit.NOT_ALLOWED, f"You aren't signed in to {address}. Set LEVEE_TOKEN, or: levee sign-in {address}."
    )


def address_of(text: str) -> str:
    """The address of a server as it is kept. Raises CliError for what is none, or would hold a password."""
    try:
        parts = urlsplit(text.strip())
        httpx.URL(text.strip())
    except (ValueError, httpx.InvalidURL):
        raise CliError(
            Exit.USAGE, "The server's address is none: write https://, its host, and a port if it needs one."
        ) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CliError(Exit.USAGE, "The server's address must begin with https:// or http://, then its host.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise CliError(Exit.USAGE, "The server's address must have no user, password, query or fragment.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix(API)}".rstrip("/")


def is_token(text: str) -> bool:
    """A request can carry it: anything else, and the libraries' errors would quote it."""
    return bool(text) and text.isascii() and text.isprintable()


def _usable(server: ServerProfile) -> ServerProfile:
    address_of(server.url)
    if not is_token(server.token):
        text = f"The token for {server.url} holds a line break or another character that no token has. Copy it again."
        raise CliError(Exit.NOT_ALLOWED, text)
    return server


def name_of(address: str) -> str:
    """The name of a server that was given none."""
    return urlsplit(address).netloc


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
