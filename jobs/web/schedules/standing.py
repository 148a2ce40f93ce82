"""What a person may do with a schedule, and how its approvals stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.accounts.appointments import Doubt
from console.accounts.models import Person
from jobs.domain.policy import Policy
from jobs.models import Schedule, ScheduleDecision, ScheduleRun
from jobs.policy.approvers import authors_of
from jobs.policy.candidates import Candidates
from jobs.schedules import approvals, queries
from jobs.schedules.places import place_of
from jobs.web.schedules.lines import run_cell
from tables.models import Table

State = Schedule.State


@dataclass(frozen=True, slots=True)
class ScheduleButtons:
    """The buttons that this person may press now."""

    pause: bool = False
    resume: bool = False
    edit: bool = False

    def __bool__(self) -> bool:
        return self.edit


def actions_of(person: Person, schedule: Schedule) -> ScheduleButtons:
    if not queries.may_run(person, schedule):
        return ScheduleButtons()
    return ScheduleButtons(
        pause=schedule.state in {State.ACTIVE, State.AWAITING_APPROVAL},
        resume=schedule.state in {State.PAUSED, State.STOPPED},
        edit=True,
    )


@dataclass(frozen=True, slots=True)
class Review:
    """The approvals of a definition, and what this person may decide. `why` says why they may not."""

    required: int
    counted: int
    reasons: tuple[str, ...]
    decisions: list[ScheduleDecision]
    may_approve: bool
    may_reject: bool
    why: str
    doubt: Doubt | None
    candidates: Candidates | None = None

    @property
    def missing(self) -> range:
        """One for each approval that is open."""
        return range(max(self.required - self.counted, 0))


def review_of(person: Person, schedule: Schedule) -> Review:
    policy = approvals.policy_now(schedule)
    needed = approvals.required(schedule)
    may = queries.may_decide(person, schedule) and schedule.state in approvals.REJECTABLE and needed > 0
    doubt = approvals.doubt_of(person, schedule) if may else None
    decided = schedule.decisions.filter(person=person, voided_at=None, digest=schedule.digest).exists()
    waits = schedule.state == State.AWAITING_APPROVAL
    return Review(
        required=needed,
        counted=approvals.approvals(schedule),
        reasons=policy.reasons,
        decisions=list(schedule.decisions.select_related("person").order_by("decided_at")),
        may_approve=may and waits and doubt is None and not decided,
        may_reject=may and not decided,
        why=_why_not(person, schedule, doubt, decided=decided),
        doubt=doubt,
        candidates=_candidates(person, schedule, policy) if waits else None,
    )


def _candidates(person: Person, schedule: Schedule, policy: Policy) -> Candidates | None:
    """Who could approve the definition, for those who shaped it; whoever decides reads of their own."""
    if not queries.is_author(person, schedule):
        return None
    return approvals.candidates_of([author.pk for author in authors_of(schedule)], policy, place_of(schedule))


def _why_not(person: Person, schedule: Schedule, doubt: Doubt | None, *, decided: bool) -> str:
    if decided:
        return "You have decided about this definition already."
    if doubt is not None:
        return f"Your approval doesn’t count here: {doubt.why}"
    if queries.is_author(person, schedule):
        return "You can’t decide about a schedule that you shaped."
    if queries.may_decide(person, schedule):
        return ""
    place = place_of(schedule)
    return f"Only an approver of {'its table' if place.table is not None else place.name} decides."


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the page lists it; with its table where the schedule has many."""

    cell: Any
    text: str
    table: Table | None = None


def run_line(schedule: Schedule, run: ScheduleRun) -> RunLine:
    return RunLine(run_cell(run), run.text, run.table if schedule.table_id is None else None)
