"""What a part needs before it can start, each a question that says why it isn't met yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
import redis

from console.supervisor.errors import StartRefused

Need = Callable[[], str | None]
"""Why it isn't met yet, in one line; None once it is. Raises StartRefused when waiting can't help."""

PAUSE_S = 1.0
# In what PostgreSQL answers when the address, the role or the password is wrong; all else may be a server that starts.
WRONG = ("authentication failed", "does not exist", "pg_hba.conf", "no password supplied", "permission denied")


def wait_for(needs: Sequence[Need], say: Callable[[str], None], sleep: Callable[[float], None] = time.sleep) -> None:
    """Returns once every need has been met, in their order. Says each cause of waiting once. Raises StartRefused."""
    reported: set[str] = set()
    for need in needs:
        while (cause := need()) is not None:
            if cause not in reported:
                reported.add(cause)
                say(f"waiting: {cause}")
            sleep(PAUSE_S)
    if reported:
        say("has what it waited for")


def database(setting: str, arguments: Mapping[str, Any]) -> Need:
    """PostgreSQL takes the role's connections; `arguments` are psycopg's."""

    def ask() -> str | None:
        try:
            psycopg.connect(**{"connect_timeout": 5, **arguments}).close()
        except psycopg.Error as error:
            cause = f"{setting}: {first_line(error)}"
            # A ProgrammingError is about an option of the address, before anything was asked.
            if isinstance(error, psycopg.ProgrammingError) or any(words in cause for words in WRONG):
                raise StartRefused(cause) from error
            return cause
        return None

    return ask


def broker(setting: str, address: str) -> Need:
    """Redis answers, and has loaded its data."""

    def ask() -> str | None:
        try:
            with redis.Redis.from_url(address, socket_timeout=5, socket_connect_timeout=5) as client:
                client.ping()
        except (
            redis.exceptions.AuthenticationError,
            redis.exceptions.ResponseError,
            ValueError,
            TypeError,  # names an option of the address that there isn't
        ) as error:
            raise StartRefused(f"{setting}: {first_line(error)}") from error
        except redis.RedisError as error:
            return f"{setting}: Redis doesn't answer: {first_line(error)}"
        return None

    return ask


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or ["no reason given"])[0].strip()
