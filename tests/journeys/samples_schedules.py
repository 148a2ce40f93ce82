"""Sample contexts of the pages of schedules."""

from __future__ import annotations

import uuid
from typing import Any

from console.accounts.models import Person
from console.templatetags.levee import state_line
from jobs.models import Schedule
from jobs.schedules.places import SchedulePlace
from jobs.schedules.standing import DEFINE_AGAIN
from jobs.web.approvals.forms import DecisionForm
from jobs.web.schedules import lines
from jobs.web.schedules.forms import ChoiceForm, ScheduleForm
from jobs.web.schedules.standing import Review, RunLine, ScheduleButtons
from tables.models import Root, Table
from tests.hostile_texts import hostile_long, hostile_whole
from tests.journeys.samples_accounts import before, refused
from tests.journeys.samples_lists import LONG, listing

ID, TABLE_ID = uuid.UUID("5a0c7be1-2f44-4c0d-9d11-7e0f9d2b6a10"), uuid.UUID("0b7c2f7e-9d0e-4c53-8a8f-5b8d0f7d9a11")
STOPPED = f"The table’s properties have changed. {DEFINE_AGAIN}"
SCHEDULE: dict[str, Any] = {
    "pk": ID, "name": "Small files of the returns, each night", "table": {"name": LONG}, "table_id": TABLE_ID,
    "state": "stopped", "state_text": STOPPED, "state_at": before(hours=7), "next_due_at": None, "cron": "30 3 * * MON-FRI",
    "time_zone": "Europe/Berlin", "window_minutes": 120, "reason": "Dashboards read these files all day", "revision": 2,
    "run_by": {"name": "olga"}, "created_by": {"name": "ines"}, "created_at": before(days=40),
    "digest": "9f2c41d7b80e4d6a91c3f7e2a05b8c4d1e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b",
}  # fmt: skip
UPCOMING = [lines.Due("Mon 30 Nov 2026, 03:30 CET", "Mon 30 Nov 2026, 02:30")] * 2
DECIDED: list[Any] = [
    {"decision": "approve", "voided_at": before(days=3), "person": {"name": "marc"}, "comment": "", "decided_at": before(days=9)},
    {"decision": "approve", "voided_at": None, "person": {"name": "tom"}, "comment": hostile_whole("yes"), "decided_at": before(days=2)},
]  # fmt: skip
RULE = ("“Vacuums are seen by two”: a vacuum job needs 2 approvers.",)
RUNS = [
    RunLine(
        "Failed, due 7 h ago", "The run would take 48,318,382,080 bytes; the schedule’s bound is 21,474,836,480 bytes."
    )
]


ON_ONE = SchedulePlace(Table(pk=TABLE_ID, name=LONG))
ON_MANY = {"place": SchedulePlace(tag=hostile_long("tag")), "tables_now": 12_345, "tables_query": "tag=gold"}
OF_MANY = [RunLine("Planned, due 7 h ago", "", Table(pk=TABLE_ID, name=LONG)), *RUNS]


def page(review: Review, **more: Any) -> tuple[str, dict[str, Any]]:
    state = more.get("state", "stopped")
    context = {
        "schedule": SCHEDULE | more, "title": f"Optimize {LONG}", "look": lines.LOOKS[state],
        "values": [("Predicate", "day > '2026-10-01'")],
        "bounds": "at most 20.0 GiB and 60 minutes a run", "upcoming": UPCOMING, "runs": RUNS, "place": ON_ONE,
        "actions": ScheduleButtons(resume=True, edit=True), "review": review,
        "decision_form": DecisionForm(auto_id="decide-%s"), "confirm_url": None,
    }  # fmt: skip
    return "jobs/schedules/schedule.html", context


ASKED = Review(2, 1, RULE, DECIDED, may_approve=True, may_reject=True, why="", doubt=None)
HELD = Review(0, 0, ("No rule asks for an approval of this optimize.",), [], False, False, "", None)

ROWS = [
    lines.ScheduleRow(
        "Small files of the returns, each night", "#", f"Optimize {LONG}", state_line(lines.LOOKS["stopped"]), STOPPED,
        "30 3 * * MON-FRI, Europe/Berlin", "none", "Failed, due 7 h ago", "olga",
    ),
    lines.ScheduleRow(
        "Old files", "#", f"Vacuum {LONG}", state_line(lines.LOOKS["awaiting_approval"]), "", "0 4 * * SUN, UTC", "none", "none yet", "ines"
    ),
    lines.ScheduleRow(
        hostile_long("schedule"), "#", hostile_whole("its title"), state_line(lines.LOOKS["active"]), hostile_whole("its state"),
        "0 2 * * *, UTC", "in 3 h", hostile_whole("its last run"), "ines",
    ),
]  # fmt: skip
PAGER = {"page": {"next_url": "#", "next_text": "Next", "previous_url": None}}
LIST: dict[str, Any] = {
    "states": lines.states("stopped"), "is_narrowed": True, "listing": listing("schedules"), "rows": ROWS, **PAGER,
    "counted": "3 schedules: 1 active, 1 waiting for approval, 1 stopped", "may_create": True,
}  # fmt: skip


def typed(**more: Any) -> ScheduleForm:
    """The form of a schedule as it was sent."""
    said = {
        "name": "nightly",
        "reason": "small files",
        "cron": "30 3 * * *",
        "time_zone": "Europe/Berlin",
        "window_minutes": "120",
    }
    return ScheduleForm({**said, "max_unit": "GiB", **more}, ON_ONE, "optimize", {})


FORM: dict[str, Any] = {
    "form": typed(), "schedule": None, "place": ON_ONE, "command": "Optimize", "kind": "optimize",
    "upcoming": UPCOMING, "never": "", "zone": "Europe/Berlin", "needs": {"required_approvals": 2, "reasons": RULE},
}  # fmt: skip
NEVER = "The expression 0 0 30 2 * never fits a date."
REFUSED = {
    **FORM, "form": refused(typed(cron="0 0 30 2 *", name=""), "cron", NEVER), "upcoming": [], "never": NEVER,
}  # fmt: skip
PAGES: dict[str, tuple[str, dict[str, Any]]] = {
    "schedule-stopped": page(HELD),
    "schedule-many": (page(HELD)[0], page(HELD)[1] | ON_MANY | {"runs": OF_MANY}),
    "schedule-new-many": ("jobs/schedules/form.html", FORM | ON_MANY),
    "schedule-asked": page(ASKED, state=Schedule.State.AWAITING_APPROVAL.value, state_text=""),
    "schedules": ("jobs/schedules/list.html", LIST),
    "schedules-none": ("jobs/schedules/list.html", LIST | {"rows": [], "is_narrowed": False, "page": {}}),
    "schedule-choose": (
        "jobs/schedules/choose.html",
        {"form": ChoiceForm(Person(), [Root(name=LONG)], None, {}), "may_tag": True},
    ),
    "schedule-new": ("jobs/schedules/form.html", FORM),
    "schedule-refused": ("jobs/schedules/form.html", REFUSED),
}
