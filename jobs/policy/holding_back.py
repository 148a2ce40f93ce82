"""What a rule that forbids would cancel and stop at once, told before it is added."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from console.accounts.authority import GrantScope
from jobs.commands.registry import ROWS
from jobs.domain.policy import ANY
from jobs.domain.states import IN_REVIEW
from jobs.models import Job, Schedule, Stream
from tables.models import Root, Table

STREAMS = "streams"  # the queue that the rounds of streams wait in


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Requests that wait, active schedules, and streams that run."""

    requests: int
    schedules: int
    streams: int


def held_back(scope: GrantScope, command: str) -> HeldBack:
    """Those on the tables of the scope, of one command or, for ANY, of all."""
    of = Q() if command == ANY else Q(command=command)
    requests = Job.objects.filter(_below(scope, "table__path"), of, state__in=IN_REVIEW)
    on = _below(scope, "table__path") | _below(scope, "root__uri")
    schedules = Schedule.objects.filter(on, of, state=Schedule.State.ACTIVE, removed_at=None)
    streams = Stream.objects.filter(_below(scope, "table__path"), state=Stream.State.RUNNING, removed_at=None)
    takes_streams = command == ANY or ROWS[command].queue == STREAMS
    return HeldBack(requests.count(), schedules.count(), streams.count() if takes_streams else 0)


def _below(scope: GrantScope, name: str) -> Q:
    """What lies at or below the place of the scope, by its path: in roots inside it as well."""
    if scope.root_id:
        place = Root.objects.values_list("uri", flat=True).get(pk=scope.root_id)
    elif scope.table_id:
        place = Table.objects.values_list("path", flat=True).get(pk=scope.table_id)
    else:
        return Q()
    return Q(**{name: place}) | Q(**{f"{name}__startswith": f"{place}/"})
