"""The pages of schedules: what people define, decide and press there."""

from __future__ import annotations

from functools import cache

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.authority import GrantScope
from console.accounts.roles import Role
from console.audit.actor import Actor
from jobs.domain.states import State
from jobs.models import Schedule, ScheduleRun
from jobs.schedules import times
from jobs.schedules.opening import count_failure
from jobs.schedules.stopping import stop
from tables.models import Table
from tables.web.table.acts import acts_on
from tests import factories
from tests.clients import SURE, browser, confirmed_browser
from tests.factories import person_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(olga):
    return olga.person


@pytest.fixture
def at_desk(olga):
    return browser(olga)


@pytest.fixture
def typed(sales):
    return {
        "table": str(sales.pk),
        "command": "optimize",
        "predicate": "p = 'FR'",
        "name": "nightly",
        "cron": "30 3 * * *",
        "time_zone": "Europe/Berlin",
        "window_minutes": "120",
        "max_size": "20",
        "max_unit": "GiB",
        "max_minutes": "",
        "reason": "small files",
        "do": "save",
    }


@pytest.fixture
def schedule(at_desk, typed):
    assert at_desk.post(reverse("jobs:schedule_new"), typed).status_code == 302
    return Schedule.objects.get()


def address(schedule, act=""):
    return reverse(f"jobs:schedule{act}", args=[schedule.pk])


def test_a_schedule_is_defined_and_shown(at_desk, schedule, olga):
    assert (schedule.state, schedule.max_bytes, schedule.max_minutes, schedule.run_by) == (
        "active",
        20 * 2**30,
        None,
        olga,
    )
    page = at_desk.get(address(schedule)).content.decode()
    assert "nightly" in page
    assert "p = &#x27;FR&#x27;" in page
    assert "at most 20.0 GiB a run" in page
    assert "03:30 C" in page  # the next runs, in the schedule's zone: CET or CEST
    listed = at_desk.get(reverse("jobs:schedules")).content.decode()
    assert "1 schedule: 1 active" in listed
    assert "30 3 * * *, Europe/Berlin" in listed


def test_a_zone_that_is_gone_is_told_beside_the_others(at_desk, typed, schedule, monkeypatch):
    paris = {**typed, "name": "paris", "time_zone": "Europe/Paris", "cron": "30 4 * * *"}
    assert at_desk.post(reverse("jobs:schedule_new"), paris).status_code == 302
    monkeypatch.setattr(times, "known_zones", cache(lambda: frozenset({"UTC", "Europe/Paris"})))
    gone = "There is no time zone &#x27;Europe/Berlin&#x27;."
    listed = at_desk.get(reverse("jobs:schedules"))
    [bad, good] = listed.context["rows"]
    assert (bad.name, good.name, good.why) == ("nightly", "paris", "")
    assert gone in bad.next
    assert gone in listed.content.decode()
    page = at_desk.get(address(schedule))
    assert page.status_code == 200
    assert f"{gone} Use a name like Europe/Berlin, or UTC. Edit the schedule" in page.content.decode()


def test_the_form_is_filled_in_from_its_address(at_desk, sales):
    page = at_desk.get(
        reverse("jobs:schedule_new"), {"table": str(sales.pk), "command": "optimize", "predicate": "p = 'DE'"}
    )
    assert page.status_code == 200
    assert 'value="p = &#x27;DE&#x27;"' in page.content.decode()
    assert "Needs no approval" in page.content.decode()
    assert 'name="full"' in page.content.decode()
    assert ">Z-order by</label>" in page.content.decode()
    assert "rehearse" not in page.content.decode()


def test_without_a_table_it_asks_for_one(at_desk, sales):
    assert "Choose the command" in at_desk.get(reverse("jobs:schedule_new")).content.decode()
    named = at_desk.get(reverse("jobs:schedule_new"), {"table": "sales", "command": "optimize"})
    assert "Cron expression" in named.content.decode()
    unknown = at_desk.get(reverse("jobs:schedule_new"), {"table": "nothing", "command": "optimize"})
    assert "No single table" in unknown.content.decode()
    other = at_desk.get(reverse("jobs:schedule_new"), {"table": "sales", "command": "delete"})
    assert "Cron expression" not in other.content.decode()


def test_a_preview_shows_the_next_runs_and_changes_nothing(at_desk, typed):
    page = at_desk.post(reverse("jobs:schedule_new"), typed | {"do": "preview", "time_zone": "Asia/Tokyo"})
    assert page.status_code == 200
    assert "03:30 JST" in page.content.decode()
    assert "18:30" in page.content.decode()
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cron": "0 0 30 2 *"}, "never fits a date"),
        ({"time_zone": "Mars/Base"}, "no time zone"),
        ({"max_minutes": "121"}, "shorter than its bound"),
        ({"predicate": "id = 3"}, "no partition column"),
        ({"name": ""}, "required"),
    ],
)
def test_a_refusal_stands_at_its_field_and_keeps_what_was_typed(at_desk, typed, change, said):
    page = at_desk.post(reverse("jobs:schedule_new"), typed | change)
    assert page.status_code == 400
    assert said in page.content.decode()
    assert "small files" in page.content.decode()
    assert not Schedule.objects.exists()


def test_it_is_paused_resumed_changed_and_removed(at_desk, schedule, typed):
    at_desk.post(address(schedule, "_pause"))
    schedule.refresh_from_db()
    assert schedule.state == "paused"
    at_desk.post(address(schedule, "_resume"))
    again = at_desk.post(address(schedule, "_resume"))
    assert again.status_code == 409
    assert "is active now" in again.content.decode()
    form = at_desk.get(address(schedule, "_edit")).content.decode()
    assert 'value="20"' in form
    assert at_desk.post(address(schedule, "_edit"), typed | {"cron": "0 5 * * *"}).status_code == 302
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.revision) == ("0 5 * * *", 2)
    assert at_desk.post(address(schedule, "_remove"), {"reason": "no longer needed"} | SURE)["Location"] == reverse(
        "jobs:schedules"
    )
    assert "No schedules yet" in at_desk.get(reverse("jobs:schedules")).content.decode()


def test_an_approver_finds_and_decides_it(reviewed, schedule, at_desk):
    anna = person_with("approver")
    asked = {"act": "approve", "digest": schedule.digest, "comment": "fine"}
    early = browser(anna)
    assert "nightly" in early.get(reverse("jobs:approvals")).content.decode()
    assert early.post(address(schedule, "_decide"), asked)["Location"].startswith(reverse("accounts:confirm"))
    own = at_desk.get(address(schedule)).content.decode()
    assert "You can’t decide about a schedule that you shaped" in own
    desk = confirmed_browser(anna)
    review = desk.get(address(schedule)).content.decode()
    assert "Approve</button>" in review
    question = 'id="decide"'  # of the keys a and r, as on the review of a request
    assert (question in own, question in review) == (False, True)
    assert desk.post(address(schedule, "_decide"), asked).status_code == 302
    schedule.refresh_from_db()
    assert schedule.state == "active"
    assert "You have decided" in desk.get(address(schedule)).content.decode()


def test_home_and_the_palette_name_it(at_desk, schedule):
    stop(Actor.system("dispatcher"), schedule, "The table’s schema has changed.")
    home = at_desk.get(reverse("home")).content.decode()
    assert "1 schedule stopped" in " ".join(home.split())
    assert "schema has changed" in home
    found = at_desk.get(reverse("find:find"), {"q": "nightly"}).content.decode()
    assert address(schedule) in found


def test_home_names_a_schedule_from_its_first_failed_run_until_one_succeeds(at_desk, schedule):
    Schedule.objects.filter(pk=schedule.pk).update(state="active")
    assert address(schedule) not in at_desk.get(reverse("home")).content.decode()
    run = ScheduleRun.objects.create(
        schedule=schedule, table=schedule.table, due_at=timezone.now(), digest=schedule.digest, outcome="failed",
        text="Files were added meanwhile.", ended_at=timezone.now(),
    )  # fmt: skip
    count_failure(Schedule.objects.get(pk=schedule.pk), run.text)
    home = at_desk.get(reverse("home")).content.decode()
    assert "Schedules that need you" in home
    assert "Last run failed" in home
    assert "The next run that fails stops it. Files were added meanwhile." in " ".join(home.split())
    assert "schedule stopped" not in home
    Schedule.objects.filter(pk=schedule.pk).update(failures=0)
    assert "Schedules that need you" not in at_desk.get(reverse("home")).content.decode()


def test_a_viewer_sees_no_buttons(schedule):
    page = browser(person_with("viewer")).get(address(schedule)).content.decode()
    assert "nightly" in page
    assert "/pause/" not in page
    assert browser(person_with("viewer")).get(address(schedule, "_edit")).status_code == 403


def test_a_finding_of_a_table_s_health_leads_to_the_form(at_desk, sales, olga):
    address = acts_on(olga, sales_known(sales), "")["schedule"].url
    assert address == f"{reverse('jobs:schedule_new')}?table={sales.pk}"
    assert "Schedule vacuum sales" in at_desk.get(f"{address}&command=vacuum").content.decode()
    asks = at_desk.get(address).content.decode()  # from the table's own page: the command is still to be chosen
    assert f'value="{sales.pk}"' in asks
    assert "lv-field-error" not in asks
    assert acts_on(person_with("viewer"), sales_known(sales), "") == {}


def sales_known(sales):
    sales.version = 1
    return sales


def test_a_run_s_page_names_its_schedule_also_after_its_removal(at_desk, schedule, sales, olga):
    job = factories.job(State.QUEUED, table=sales, requested_by=olga, schedule=schedule)
    page = reverse("jobs:detail", args=[job.pk])
    assert address(schedule) in at_desk.get(page).content.decode()
    at_desk.post(address(schedule, "_remove"), {"reason": "no longer needed"} | SURE)
    after = at_desk.get(page).content.decode()
    assert "by schedule nightly, now removed" in after
    assert address(schedule) not in after
    assert at_desk.get(f"/api/v1/jobs/{job.pk}").json()["schedule"] == str(schedule.pk)


@pytest.mark.parametrize("where", ["root", "tag"])
def test_one_for_many_tables_is_chosen_defined_and_shown(at_desk, typed, sales, where):
    Table.objects.update(tags=["gold"], version=1)
    value = str(sales.root_id) if where == "root" else "gold"
    name = f"all tables of {sales.root.name}" if where == "root" else "all tables tagged gold"
    del typed["table"]
    choose = at_desk.get(reverse("jobs:schedule_new")).content.decode()
    assert [f'name="{field}"' in choose for field in ("table", "root", "tag")] == [True, True, True]
    form = at_desk.get(reverse("jobs:schedule_new"), {"command": "optimize", where: value}).content.decode()
    assert f"Schedule optimize {name}" in form
    assert "1 table now" in form
    assert "left out until the schedule is resumed" in form
    answer = at_desk.post(reverse("jobs:schedule_new"), typed | {where: value})
    assert answer.status_code == 302, answer.content.decode()
    schedule = Schedule.objects.get()
    assert (schedule.table, schedule.tag, schedule.root) == (
        None, "" if where == "root" else "gold", sales.root if where == "root" else None,
    )  # fmt: skip
    ScheduleRun.objects.create(
        schedule=schedule, table=sales, due_at=timezone.now(), digest=schedule.digest, is_planned=True
    )
    page = at_desk.get(address(schedule)).content.decode()
    assert f"Optimize the files of {name}" in page
    assert f'href="{reverse("tables:list")}?{where}={value}"' in page
    assert "Planned" in page
    assert f'href="{reverse("tables:overview", args=[sales.pk])}">sales</a>' in page
    assert name in at_desk.get(reverse("jobs:schedules")).content.decode()
    edit = at_desk.get(address(schedule, "_edit")).content.decode()
    assert f'name="{where}" value="{value}"' in edit
    edited = at_desk.post(address(schedule, "_edit"), typed | {where: value, "cron": "0 5 * * *"})
    assert edited.status_code == 302, edited.content.decode()
    stop(Actor.system("tests"), Schedule.objects.get(), "It can’t go on.")
    home = at_desk.get(reverse("home")).content.decode()
    assert ("all tagged gold" if where == "tag" else f"all of {sales.root.name}") in home


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, "Name a table, a root or a tag."), ({"table": "sales", "tag": "gold"}, "Name one of the three.")],
)
def test_a_choice_of_none_or_two_places_is_said(at_desk, sales, given, said):
    page = at_desk.get(reverse("jobs:schedule_new"), {"command": "optimize", **given}).content.decode()
    assert said in page


def test_only_an_operator_of_everything_is_offered_a_tag(sales):
    tom = factories.appointed("tom", Role.OPERATOR, GrantScope(root_id=sales.root_id))
    page = browser(tom).get(reverse("jobs:schedule_new")).content.decode()
    assert [f'name="{field}"' in page for field in ("table", "root", "tag")] == [True, True, False]
    form = browser(tom).get(reverse("jobs:schedule_new"), {"command": "optimize", "tag": "gold"})
    assert form.status_code == 403
