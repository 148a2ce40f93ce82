"""Sample contexts of home and of the lake's commits, in the shapes that views hand over."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from console.accounts.appointments import AppointmentLink, Doubt
from console.base.errors import Problem
from console.pages.home.bar import StoryBar
from console.pages.home.colleagues import APPROVER, ROLES, Approver, Team
from console.pages.home.forms import ColleaguesForm
from console.pages.home.lake import shown, sizes_shown
from console.pages.home.steps import Step
from console.pages.home.story import Invitation, Story
from tables.catalog.lately.days import LakeDay, LakeDays
from tables.catalog.lately.growth import TableGrowth
from tables.rules.commit_kinds import TEXTS
from tests.hostile_texts import hostile_long
from tests.journeys import samples_review
from tests.journeys.samples_lists import listing

TODAY = datetime.now(UTC).date()


def _day(back: int) -> LakeDay:
    """A day with something of everything; each fifth has nothing, so that gaps show."""
    if back % 5 == 4:
        return LakeDay(TODAY - timedelta(days=back))
    appends, changes, removals, upkeeps = 12 + back % 7 * 9, back % 3 * 4, back % 4, back % 6
    return LakeDay(
        TODAY - timedelta(days=back), appends + changes + removals + upkeeps + back % 2, appends, changes, removals, upkeeps,
        appends * 41_000, removals * 380_000, appends << 28, (removals + upkeeps) << 29, back % 3,
    )  # fmt: skip


LAKE = shown(LakeDays([_day(back) for back in reversed(range(30))], datetime.now(UTC) - timedelta(minutes=3), 1))
QUIET_LAKE = shown(LakeDays([LakeDay(TODAY - timedelta(days=b), int(not b), int(not b)) for b in reversed(range(30))]))


def _grown(name: str, size: int, grown: int | None) -> TableGrowth:
    table: Any = SimpleNamespace(pk=uuid.uuid4(), name=name, size_bytes=size, last_commit_at=datetime.now(UTC))
    sizes: list[int | None] = [None] * 5 + [size - (grown or 0) + (grown or 0) * n // 25 for n in range(26)]
    return TableGrowth(table, sizes, grown, TODAY)


LARGEST = sizes_shown(
    [
        _grown("sales/orders", 91 << 40, 4 << 40),
        _grown("iot/sensor_readings_hourly_of_every_station_in_the_north", 12 << 40, -(3 << 40)),
        _grown("web/clicks", 9 << 40, 0),
        _grown(hostile_long("largest"), 2 << 30, None),
    ]
)


TITLES = {
    "convert": "Convert orders to a Delta table",
    "history": "Look at its history",
    "team": "Add two colleagues",
    "delete": "Preview a delete, and request it",
    "approve": "Have it approved by a second person",
    "undo": "Undo it",
}


def _steps(now: str, **of_now: Any) -> list[Step]:
    """All steps, with one at hand; those before it are done."""
    usual = {
        "text": "Every later change becomes a version that you can read and restore.",
        "act": "Open it",
        "url": "/",
    }
    at = list(TITLES).index(now)
    before, after = list(TITLES.items())[:at], list(TITLES.items())[at + 1 :]
    return [
        *(Step(key, title, "", "done") for key, title in before),
        Step(now, TITLES[now], state="now", **(usual | of_now)),
        *(Step(key, title, "", "todo") for key, title in after),
    ]


def _at_the_team(text: str, yourself: str = "") -> list[Step]:
    text = f"Nobody approves their own request: {text}"
    return _steps("team", text=text, act="", url="", waits=True, yourself=yourself)


def _for_ana(key: str) -> list[Step]:
    """As the first person has a step that a colleague is to take."""
    text = "It is ana’s turn: the button is on their home page."
    return _steps(key, text=text, act="", url="", waits=True, yourself="/")


def _refused() -> ColleaguesForm:
    form = ColleaguesForm({"asker": "ana", "approver": "admin"}, wanted=ROLES)
    form.full_clean()
    form.refuse(Problem(400, "invalid", "There is already a person with this name.", person="admin"))
    return form


WAITING: Any = SimpleNamespace(state="awaiting_approval")
DECIDES = "Nobody approves their own request. The approver signs in, opens it on their home page, and decides."
AT_APPROVAL = _steps("approve", text=DECIDES, job=WAITING, act="Open the request", decision=True)
DOUBT = Doubt((AppointmentLink("admin", "ana", ""), AppointmentLink("admin", "marc", "")), "marc")
ANA: Any = SimpleNamespace(name="ana")
NOBODY, FULL = Team(None, Approver()), Team(ANA, Approver("marc"))
ONLY_ANA = Team(ANA, Approver())
INVITED = Team(ANA, Approver("marc_of_the_northern_harbours_and_locks", unclaimed=True))
DOUBTED, UNCLAIMED = (Team(ANA, Approver(doubt=DOUBT, unclaimed=u)) for u in (False, True))
SECRET = "https://levee.example.org/first-sign-in/?link=" + "pX3-9vQm" * 5
LINKS = [Invitation("ana", True, SECRET), Invitation("marc_of_the_northern_harbours_and_locks", False, SECRET)]
BOTH = "one colleague asks for a delete, the other one approves it."
ONE = "ana can ask for a delete, a colleague is missing who approves it."
FOR_AN_APPROVER = Step("approve", "Approve a colleague’s request", "Nothing waits for you.", "now", waits=True)
ASKED_AN_APPROVER = replace(
    FOR_AN_APPROVER, text="ana asked for a change of orders.", act="Review", url="/", job=WAITING
)
STORIES = {
    "begins": Story(_steps("convert", act="Convert"), NOBODY, may_add_people=True),
    "converts": Story(_steps("convert", act="Open the job", job=SimpleNamespace(state="running")), NOBODY, may_add_people=True),
    "history": Story(_steps("history", act="Open the history"), NOBODY, may_add_people=True),
    "nobody": Story(_at_the_team(BOTH, "/"), NOBODY, may_add_people=True, form=ColleaguesForm(wanted=ROLES)),
    "refused": Story(_at_the_team(BOTH, "/"), NOBODY, may_add_people=True, form=_refused()),
    "one": Story(_at_the_team(ONE), ONLY_ANA, may_add_people=True, form=ColleaguesForm(wanted=[APPROVER])),
    "no-admin": Story(_at_the_team(ONE), ONLY_ANA, may_add_people=False),
    "links": Story(_for_ana("delete"), UNCLAIMED, may_add_people=True, invitations=LINKS),
    "delete": Story(_steps("delete", act="Preview a delete"), FULL, may_add_people=False),
    "delete-hers": Story(_for_ana("delete"), FULL, may_add_people=True),
    "unclaimed": Story(AT_APPROVAL, UNCLAIMED, may_add_people=True),
    "doubted": Story(AT_APPROVAL, DOUBTED, may_add_people=True),
    "approvable": Story(AT_APPROVAL, FULL, may_add_people=True),
    "approver-invited": Story(AT_APPROVAL, INVITED, may_add_people=True),
    "approver-gone": Story(_steps("undo", job=WAITING, act="Open the request", decision=True), ONLY_ANA, may_add_people=True),
    "undo": Story(_steps("undo", act="Undo the delete"), FULL, may_add_people=False),
    "undo-hers": Story(_for_ana("undo"), FULL, may_add_people=True),
    "approver": Story([FOR_AN_APPROVER], None, may_add_people=False),
    "approver-asked": Story([ASKED_AN_APPROVER], None, may_add_people=False),
}  # fmt: skip
FIRST_AT_APPROVAL, FIRST_AT_UNDO = STORIES["doubted"], STORIES["undo-hers"]
BARS = {
    "here": StoryBar(1, TITLES["convert"], "Check the partitions that Levee proposes, then request the conversion.", "/convert/"),
    "alone": StoryBar(3, TITLES["team"], f"Nobody approves their own request: {BOTH}", "/", "Add two colleagues", "/#story", is_ahead=True),
    "doubted": StoryBar(5, TITLES["approve"], DECIDES, "/", story=FIRST_AT_APPROVAL, decision=True, poll_seconds=15),
    "hers": StoryBar(6, TITLES["undo"], "It is ana’s turn.", "/", yourself="/", story=FIRST_AT_UNDO, poll_seconds=15),
    "end": StoryBar(6, "The story is complete", "You have undone it. Next you can:", "/", next=[("Read the help", "/help/")]),
}  # fmt: skip
MOVED = {
    "waiting": samples_review.CARDS, "heading": "Three decisions wait for you", "lake": LAKE, "largest": LARGEST,
    "failed_streams": 1, "unexplained_count": 3,
}  # fmt: skip


def commit(version: int, **facts: Any) -> dict[str, Any]:
    usual = {
        "table": SimpleNamespace(name="sales/orders"), "version": version, "operation": "DELETE", "files_added": 3,
        "files_removed": None, "user_name": "", "engine_info": "Apache-Spark/4.0.0 Delta-Lake/4.0.0",
        "committed_at": datetime.now(UTC),
    }  # fmt: skip
    return {"commit": SimpleNamespace(**{**usual, **facts}), "url": "/tables/", "rows": f"−{version:,}"}


HOSTILE = {name: hostile_long(name) for name in ("operation", "user_name", "engine_info")}
COMMIT = commit(7, **HOSTILE, table=SimpleNamespace(name=hostile_long("table")))
KINDS = [{"text": text, "url": f"?kind={kind}", "is_current": kind == "append"} for kind, text in TEXTS.items()]
COMMITS: dict[str, Any] = {
    "heading": f"Commits of {date(2026, 3, 1):%-d %B %Y}", "kinds": KINDS, "rows": [commit(1_476), COMMIT],
    "page": {"next_url": "?cursor=x", "previous_url": None, "next_text": "Earlier"}, "listing": listing("commits"),
    "earlier_url": "?day=2026-02-28", "later_url": None,
}  # fmt: skip
PAGES = {
    "commits": ("tables/list/commits.html", COMMITS),
    "commits-none": ("tables/list/commits.html", COMMITS | {"rows": [], "page": {}}),
}
