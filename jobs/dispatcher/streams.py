"""The dispatcher's look at streams: books the rounds that have ended, and opens those that are due."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import connection

from jobs.streams import booking, lag, rounds
from jobs.worker.border import border


def look() -> int:
    """Returns how many rounds it booked and opened. Sources that don't answer hold it up for `lag.LOOKS.seconds` in all."""
    lag.LOOKS.forget()
    ended, due = booking.ended(), rounds.due()
    if not ended and not due:
        return 0  # usually: without the questions about none
    booking.look_ahead(ended)
    rounds.look_ahead(due)
    return _each(booking.book, ended) + _each(rounds.open_if_due, due)


def _each(act: Callable[[Any], bool], ids: Iterable[Any]) -> int:
    """One by one: whatever fails with one stream, the others go on."""
    done = 0
    for pk in ids:
        with border("stream_not_served", {"id": str(pk)}, lambda _error: connection.close()):
            done += act(pk)
    return done
