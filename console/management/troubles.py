"""What can go wrong at the command line, each in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError

from console.base.env import Env
from console.base.errors import Problem

SOCKET = ".s.PGSQL.5432"
EMPTY = "The database has no tables yet: wait until the instance says that it is ready."
# SQLSTATEs that a server which is there answers with: connections lost, not admitted, shutting down or starting.
UNREACHABLE = ("08", "28", "57P")


def down(env: Env, error: BaseException | None = None) -> str:
    """Why no command reaches the database: what runs, or doesn't, in which home."""
    if env.database_url is not None:
        return "PostgreSQL doesn't answer at LEVEE_DATABASE_URL; start it, or correct the address."
    if not env.embedded:
        why = f"no instance has ever been started in {env.home}"
    elif not (Path(env.embedded["pg_socket_dir"]) / SOCKET).exists():
        why = f"the instance of {env.home} isn't running"
    elif "authentication failed" in str(error):
        return f"LEVEE_HOME: PostgreSQL of {env.home} admits only {env.home.owner()}; run the command as that user."
    else:
        why = f"PostgreSQL of {env.home} doesn't answer yet"
    return f"LEVEE_HOME: {why}; start it (make run), or set LEVEE_HOME to the home of the one that runs."


def unreached(error: BaseException | None) -> OperationalError | InterfaceError | None:
    """The error of a lost or refused connection that `error` is, or that led to it; None if there is none."""
    while error is not None:
        if isinstance(error, OperationalError | InterfaceError) and _is_about_reaching(error):
            return error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None


def _is_about_reaching(error: BaseException) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    return state is None or state.startswith(UNREACHABLE)


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turns what a person can mend into a CommandError."""
    try:
        yield
    except Problem as problem:
        raise CommandError(problem.detail) from None
    except (OperationalError, InterfaceError) as error:
        if unreached(error) is None:  # the server answered: it has a reason of its own
            raise CommandError(f"PostgreSQL refused: {first_line(error)}") from None
        raise CommandError(down(settings.ENV, error)) from None
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != "42P01":  # undefined table
            raise
        raise CommandError(EMPTY) from None
