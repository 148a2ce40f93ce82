"""What can go wrong at the command line, each in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError

from console.errors import Problem

DOWN = "PostgreSQL doesn't answer. Is the instance running (make run), and is LEVEE_HOME or LEVEE_DATABASE_URL its own?"
EMPTY = "The database has no tables yet: wait until the instance says that it is ready."


@contextmanager
def in_one_line() -> Iterator[None]:
    """Turns what a person can mend into a CommandError."""
    try:
        yield
    except Problem as problem:
        raise CommandError(problem.detail) from None
    except (OperationalError, InterfaceError):
        raise CommandError(DOWN) from None
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != "42P01":  # undefined table
            raise
        raise CommandError(EMPTY) from None
