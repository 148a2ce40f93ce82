"""The dispatcher's look at schedules: books the runs that have ended, ends the late ones, and opens those that are due."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from jobs.dispatcher.stores import Stores
from jobs.dispatcher.turns import RoundTurns
from jobs.models import Schedule, ScheduleRun
from jobs.schedules import closing, opening, planning
from jobs.worker.border import border

MOST = 200  # runs, and schedules, in one look
# For each part of a look, opening at each store: the next look waits for it. Opening one takes some 20 ms, most of it in reading its
# table's log and writing audit and job, so thousands that are due at once take many looks; workers take longer for them by far.
SECONDS = 1.0
# In turns: one that waits in its window, for its approvals or for an earlier run, holds up no other.
_runs, _due = RoundTurns[ScheduleRun](), defaultdict[str, RoundTurns[Schedule]](RoundTurns)
_planned = defaultdict[tuple[str, uuid.UUID], RoundTurns[ScheduleRun]](RoundTurns)
_began = defaultdict[str, int](int)  # looks at the planned runs of a store: each begins with another schedule
_STORES, _PLANNED_STORES = Stores(), Stores()


def look() -> int:
    """Returns how many runs it booked, ended, queued and opened. The next look goes on where this one stopped."""
    _each(opening.set_by_clock, opening.too_far())
    booked = _each(closing.look_at, (run.pk for run in _runs.take(closing.open_runs(), MOST)))
    booked += _each(closing.end_planned, (row.pk for row in closing.with_planned_to_end()))
    booked += _each(opening.open_if_due, (row.pk for row in opening.due_for_many()[:MOST]))
    return booked + _STORES.ask(opening.due(), _open) + _PLANNED_STORES.ask(planning.planned(), _open_planned)


def _open_planned(planned: QuerySet[ScheduleRun], store: str) -> int:
    """The same for planned runs: of each schedule in turn, so that one with very many tables holds up no other."""
    schedules = list(planned.order_by("schedule").values_list("schedule", flat=True).distinct())
    _began[store] += 1
    first = _began[store] % max(len(schedules), 1)
    some = [
        _planned[store, pk].take(planned.filter(schedule=pk), planning.MOST_OPEN)
        for pk in schedules[first:] + schedules[:first]
    ]
    return _each(opening.open_planned, (row.pk for rows in zip_longest(*some) for row in rows if row is not None))


def _open(due: QuerySet[Schedule], store: str) -> int:
    """Opens those of one store's tables: opening reads the table's log, which the store may not give for long."""
    return _each(opening.open_if_due, (row.pk for row in _due[store].take(due, MOST)))


def _each(act: Callable[[Any], bool], ids: Iterable[Any]) -> int:
    """One by one, for SECONDS: whatever fails with one schedule, the others go on."""
    done, ends = 0, time.monotonic() + SECONDS
    for pk in ids:
        with border("schedule_not_served", {"id": str(pk)}, lambda _error: connection.close()):
            done += act(pk)
        if time.monotonic() >= ends:
            break
    return done
