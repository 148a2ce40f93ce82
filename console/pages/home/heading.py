"""What leads the home page: the worst that is open, else the next thing to do, else what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import apnumber

from jobs.domain.states import State

RUNS = (State.RUNNING, State.CANCELLING)
WAIT_FOR_A_WORKER = (State.QUEUED, State.PREVIEWING)


@dataclass(frozen=True, slots=True)
class JobCounts:
    """How many of each there are for the person. `jobs` are those that run or will without anybody's decision, by state."""

    failed_streams: int = 0
    stopped_schedules: int = 0
    unexplained: int = 0
    errors: int = 0
    notices: int = 0
    waiting: int = 0
    stale: int = 0
    warnings: int = 0
    tables: int = 0
    has_role: bool = True
    jobs: Mapping[str, int] | None = None

    def in_states(self, states: tuple[State, ...]) -> int:
        """How many jobs are in one of them."""
        return sum((self.jobs or {}).get(state, 0) for state in states)


Sentence = Callable[[int], str]


def heading_of(counts: JobCounts) -> str:
    """The one sentence for what comes first. What failed comes before what waits, and that before what goes well."""
    ranked: list[tuple[int, Sentence]] = [
        (counts.in_states((State.RECONCILING,)), lambda n: f"{_many(n, 'job')} ended without a known outcome"),
        (counts.failed_streams, lambda n: f"{_many(n, 'stream')} failed"),
        (counts.stopped_schedules, lambda n: f"{_many(n, 'schedule')} stopped"),
        (counts.unexplained, lambda n: f"{_many(n, 'commit')} to acknowledge"),
        (counts.errors, lambda n: f"{_many(n, 'table')} {'has' if n == 1 else 'have'} errors"),
        (counts.notices, lambda n: f"{_many(n, 'change')} of roles and rules to acknowledge"),
        (counts.waiting, lambda n: f"{_many(n, 'decision')} {'waits' if n == 1 else 'wait'} for you"),
        (counts.in_states(RUNS) + counts.in_states(WAIT_FOR_A_WORKER), lambda _: _jobs(counts)),
        (counts.stale, lambda n: f"{_many(n, 'table')} {'is' if n == 1 else 'are'} not in sync"),
        (counts.warnings, lambda n: f"{_many(n, 'table')} {'has' if n == 1 else 'have'} warnings"),
        (counts.tables, lambda _: "Nothing needs you"),
    ]
    empty = "No tables yet" if counts.has_role else "You have no role yet"
    return next((sentence(number) for number, sentence in ranked if number), empty)


def _jobs(counts: JobCounts) -> str:
    running, queued = counts.in_states(RUNS), counts.in_states(WAIT_FOR_A_WORKER)
    if not running:
        return f"{_many(queued, 'job')} {'is' if queued == 1 else 'are'} queued"
    text = f"{_many(running, 'job')} {'is' if running == 1 else 'are'} running"
    return f"{text}, {apnumber(queued)} {'is' if queued == 1 else 'are'} queued" if queued else text


def _many(number: int, noun: str) -> str:
    return f"{str(apnumber(number)).capitalize()} {noun}{'' if number == 1 else 's'}"
