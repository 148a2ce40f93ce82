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


def down(env: Env) -> str:
    """Why no command reaches the database: what runs, or doesn't, in which home."""
    if env.database_url is not None:
        return "PostgreSQL doesn't answer at LEVEE_DATABASE_URL; start it, or correct the address."
    if not env.embedded:
        why = f"no instance has ever been started in {env.home}"
    elif not (Path(env.embedded["pg_socket_dir"]) / SOCKET).exists():
        why = f"the instance of {env.home} isn't running"
    else:
        why = f"PostgreSQL of {env.home} doesn't answer yet"
    return f"LEVEE_HOME: {why}; start it (make run), or set LEVEE_HOME to the home of the one that runs."


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turns what a person can mend into a CommandError."""
    try:
        yield
    except Problem as problem:
        raise CommandError(problem.detail) from None
    except (OperationalError, InterfaceError):
        raise CommandError(down(settings.ENV)) from None
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != "42P01":  # undefined table
            raise
        raise CommandError(EMPTY) from None
