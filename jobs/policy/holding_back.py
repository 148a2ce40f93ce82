"""What a rule that forbids would cancel and stop at once, told before it is added."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from console.accounts.authority import GrantScope
from jobs.domain.policy import ANY
from jobs.domain.states import IN_REVIEW
from jobs.models import Job, Schedule, Stream

ROUND = "stream_round"  # the command that a stream's rounds are


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Requests that wait, active schedules, and streams that run."""

    requests: int
    schedules: int
    streams: int


def held_back(scope: GrantScope, command: str) -> HeldBack:
    """Those on the tables of the scope, of one command or, for ANY, of all."""
    tables, of = _within(scope), Q() if command == ANY else Q(command=command)
    requests = Job.objects.filter(tables, of, state__in=IN_REVIEW)
    wider = tables | Q(root=scope.root_id) if scope.root_id else tables
    schedules = Schedule.objects.filter(wider, of, state=Schedule.State.ACTIVE, removed_at=None)
    streams = Stream.objects.filter(tables, state=Stream.State.RUNNING, removed_at=None)
    takes_streams = command in (ANY, ROUND)
    return HeldBack(requests.count(), schedules.count(), streams.count() if takes_streams else 0)


def _within(scope: GrantScope) -> Q:
    if scope.root_id:
        return Q(table__root=scope.root_id)
    return Q(table=scope.table_id) if scope.table_id else Q()
