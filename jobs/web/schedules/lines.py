"""Schedules and their runs as pages show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.accounts.models import Person
from console.base.pagination import OrderKey, Page, page
from console.base.text.counted import counted
from console.templatetags.formatting.looks import STATE_LOOKS, StateLook
from console.templatetags.levee import ago, size, state_line, status, unknown
from jobs.commands.registry import ROWS
from jobs.models import Schedule, ScheduleRun
from jobs.schedules import queries, times
from jobs.schedules.places import place_of

State = Schedule.State
BY_NAME = (OrderKey("name"), OrderKey("id"))
ORDERS = {"name": BY_NAME, "stopped": (OrderKey("rank"), *BY_NAME)}
LOOKS: dict[str, StateLook] = {
    State.ACTIVE: StateLook("ok", "player-play", "Active"),
    State.AWAITING_APPROVAL: StateLook("wait", "user-check", "Waiting for approval"),
    State.PAUSED: STATE_LOOKS["paused"],
    State.STOPPED: StateLook("bad", "circle-x", "Stopped"),
}
OUTCOMES: dict[str, StateLook] = {
    "succeeded": StateLook("ok", "circle-check", "Succeeded"),
    "failed": StateLook("bad", "circle-x", "Failed"),
    "skipped": StateLook("wait", "clock", "Skipped"),
    "ended": StateLook("idle", "player-stop", "Ended"),
}
PLANNED = StateLook("idle", "clock", "Planned")
NEXT = 5


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule in the list."""

    name: str
    url: str
    what: str
    state: SafeString
    why: str
    when: str
    next: Any
    last: Any
    by: str


def listed(
    person: Person, limit: int, cursor: str, state: str = "", order: tuple[OrderKey, ...] = BY_NAME
) -> Page[Schedule]:
    """The person's schedules, by name unless told, of one state if any."""
    rows = queries.visible_to(person).annotate(rank=queries.RANK)
    return page(rows.filter(state=state) if state else rows, order, limit, cursor)


def states(chosen: str) -> list[dict[str, Any]]:
    """Links that narrow the list."""
    links = [("", "All"), *((state.value, LOOKS[state].word) for state in State)]
    return [{"text": text, "url": f"?state={value}", "is_current": value == chosen} for value, text in links]


def by_state(person: Person) -> str:
    """3 schedules: 2 active, 1 stopped."""
    found = dict(queries.visible_to(person).order_by().values_list("state").annotate(Count("pk")))
    total = sum(found.values())
    parts = [f"{found[state]:,} {LOOKS[state].word.lower()}" for state in State if found.get(state)]
    return f"{counted(total, 'schedule')}{': ' if parts else ''}{', '.join(parts)}"


def rows_of(schedules: Sequence[Schedule]) -> list[ScheduleRow]:
    """The rows of a page; one query for their last runs."""
    last = queries.last_runs(schedules)
    return [_row(schedule, last.get(schedule.pk)) for schedule in schedules]


def _row(schedule: Schedule, last: ScheduleRun | None) -> ScheduleRow:
    fault = times.fault_of(schedule.cron, schedule.time_zone)
    return ScheduleRow(
        name=schedule.name,
        url=reverse("jobs:schedule", args=[schedule.pk]),
        what=title_of(schedule),
        state=state_line(LOOKS[schedule.state]),
        why=schedule.state_text or fault,
        when=f"{schedule.cron}, {schedule.time_zone}",
        next=_next(schedule, fault),
        last=_last(schedule, last),
        by=schedule.run_by.name,
    )


def _last(schedule: Schedule, run: ScheduleRun | None) -> str:
    if run is None:
        return unknown("It was never due", word="none yet")
    if schedule.table_id is not None:
        return run_cell(run)
    failed = f"{counted(schedule.failures, 'table')} failed" if schedule.failures else ""
    return format_html('due {} <span class="lv-second">{}</span>', ago(run.due_at), failed)


def _next(schedule: Schedule, fault: str) -> str:
    if schedule.next_due_at is None:
        return unknown("No runs start in this state", word="none")
    return unknown(fault) if fault else ago(schedule.next_due_at)


def after_a_change(schedule: Schedule) -> str:
    """What is left to do once its definition has been changed."""
    if schedule.state == State.AWAITING_APPROVAL:
        return "It runs again once it is approved."
    return (
        "It runs by the new definition from now on."
        if schedule.state == State.ACTIVE
        else "It doesn’t run now: resume it."
    )


def title_of(schedule: Schedule) -> str:
    """Its command on its table, or on all that it is for, as its jobs are called."""
    row, where = ROWS.get(schedule.command), place_of(schedule).name
    return f"{schedule.command} {where}" if row is None else row.wording.title(where, schedule.parameters, {})


def run_cell(run: ScheduleRun) -> SafeString:
    """A run's outcome, with its job and when it was due."""
    look, when = _look_of(run), ago(run.due_at)
    if run.job_id is None:
        return format_html('{} <span class="lv-second">due {}</span>', look, when)
    address = reverse("jobs:detail", args=[run.job_id])
    return format_html(
        '{} <span class="lv-second"><a href="{}">job {}</a>, due {}</span>', look, address, str(run.job_id)[:8], when
    )


def _look_of(run: ScheduleRun) -> SafeString:
    if run.outcome:
        return state_line(OUTCOMES[run.outcome])
    if run.is_planned:
        return state_line(PLANNED)
    return status(run.job.state) if run.job else state_line(OUTCOMES["ended"])


@dataclass(frozen=True, slots=True)
class Due:
    """A moment in the schedule's zone, and in UTC."""

    there: str
    utc: str


def next_runs(cron: str, zone: str) -> list[Due]:
    """The next times. Raises times.NeverDue."""
    there = times.zone_of(zone)
    return [_due(moment, moment.astimezone(there)) for moment in times.upcoming(cron, zone, timezone.now(), NEXT)]


def _due(moment: datetime, there: datetime) -> Due:
    return Due(f"{there:%a %d %b %Y, %H:%M} {there:%Z}", f"{moment:%a %d %b %Y, %H:%M}")


TALLIED = ("succeeded", "failed", "skipped", "ended", "open", "planned")


def tally_text(tally: queries.Tally | None) -> str:
    """`9,950 succeeded, 40 failed, 10 skipped`."""
    if tally is None:
        return ""
    return ", ".join(f"{tally.counts[name]:,} {name}" for name in TALLIED if tally.counts.get(name))


def bounds_of(schedule: Schedule) -> str:
    """`at most 20 GiB and 45 minutes`."""
    parts = [size(schedule.max_bytes)] if schedule.max_bytes is not None else []
    parts += [counted(schedule.max_minutes, "minute")] if schedule.max_minutes is not None else []
    return f"at most {' and '.join(parts)} a run" if parts else "none but the instance’s own limits"


def values_of(schedule: Schedule) -> list[tuple[str, str]]:
    """The command's values in words, but for what isn't said."""
    said = {
        name: value for name, value in schedule.asked.items() if name != "table" and value not in (None, "", [], False)
    }
    return [(name.replace("_", " ").capitalize(), _text(value)) for name, value in said.items()]


def _text(value: Any) -> str:
    if value is True:
        return "yes"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
