"""Schedules for all tables of a root or with a tag: planned when they are due, opened table by table, each run on its own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from console.accounts import services
from console.accounts.authority import GrantScope
from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.commands.optimize.rules import Optimize
from jobs.commands.vacuum.rules import Vacuum
from jobs.domain.states import State
from jobs.models import Job, Schedule, ScheduleRun
from jobs.policy import evaluate
from jobs.policy import services as policy_services
from jobs.policy.services import Terms
from jobs.requests.asking import request
from jobs.schedules import acts, approvals, planning, queries
from jobs.schedules.definition import WantedSchedule
from tables.models import Root, Table
from tables.sync import table as syncing
from tests import factories
from tests.jobs import small_delta
from tests.jobs.commands.vacuum.test_flow import Vacuuming
from tests.jobs.schedules.conftest import (
    YEARLY,
    Compacting,
    fresh,
    look,
    make_due,
    on,
    outcomes,
    previewed,
    ran,
    run_all,
    table_of,
    texts,
)
from tests.jobs.web.commands.vacuum.conftest import grow_old, old_table

pytestmark = pytest.mark.django_db(transaction=True)
ACTIVE, STOPPED, AWAITING = Schedule.State.ACTIVE, Schedule.State.STOPPED, Schedule.State.AWAITING_APPROVAL
SKIPPED = ScheduleRun.Outcome.SKIPPED


def test_it_runs_on_every_table_of_its_root(many: Any, olga: Any, two: list[Table]) -> None:
    schedule = many()
    assert look() == 0
    due_at = make_due(schedule)
    look()
    jobs = Job.objects.filter(schedule=schedule)
    assert {job.table_id for job in jobs} == {table.pk for table in two}
    assert {(job.requested_by, job.state, job.reason) for job in jobs} == {
        (olga, State.PREVIEWING, "Schedule nightly: many small files")
    }
    run_all()
    assert on(schedule) == {"a": "succeeded", "b": "succeeded"}
    after = fresh(schedule)
    assert after.state == ACTIVE
    assert after.next_due_at is not None
    assert after.next_due_at > due_at + timedelta(hours=1)


def test_it_runs_on_those_that_have_its_tag_when_it_is_due(many: Any, lake: Root) -> None:
    schedule = many(tag="gold")
    table_of(lake, "later", "gold", "other")
    make_due(schedule)
    look()
    run_all()
    assert on(schedule) == {"a": "succeeded", "later": "succeeded"}


def test_hidden_missing_and_plain_tables_are_none_of_them(many: Any, lake: Root, two: list[Table]) -> None:
    Table.objects.filter(pk=two[0].pk).update(hidden_at=timezone.now())
    Table.objects.filter(pk=two[1].pk).update(missing_since=timezone.now())
    factories.TableFactory(root=lake, name="plain", path=f"{lake.uri}/plain")
    schedule = many()
    make_due(schedule)
    look()
    assert on(schedule) == {}
    assert fresh(schedule).state == ACTIVE


@pytest.mark.usefixtures("reviewed")
def test_its_definition_is_approved_once_and_each_run_by_that(many: Any, anna: Actor) -> None:
    schedule = many()
    assert schedule.state == AWAITING
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    run_all()
    assert on(schedule) == {"a": "succeeded", "b": "succeeded"}


@pytest.mark.usefixtures("reviewed")
def test_a_table_whose_rules_ask_for_more_waits_for_it(many: Any, anna: Actor, two: list[Table]) -> None:
    here = GrantScope(table_id=two[1].pk)
    policy_services.add(Actor.system("tests"), "optimize", here, Terms("Two of us", 2))
    schedule = many()
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    run_all()
    assert on(schedule) == {"a": "succeeded", "b": ""}
    assert Job.objects.get(table=two[1]).state == State.AWAITING_APPROVAL


@pytest.mark.usefixtures("reviewed")
def test_an_approver_of_one_table_does_not_decide_about_many(many: Any, olga: Any, two: list[Table]) -> None:
    schedule = many(tag="gold")
    only = factories.appointed("tom", Role.APPROVER, GrantScope(table_id=two[0].pk))
    with pytest.raises(Problem) as refused:
        approvals.approve(Actor.acting_for(only), schedule, schedule.digest)
    assert refused.value.code == "forbidden"
    assert "all tables tagged gold" in refused.value.detail


def test_who_operates_a_part_of_it_defines_none(lake: Root, two: list[Table]) -> None:
    own = factories.appointed("tom", Role.OPERATOR, GrantScope(table_id=two[0].pk))
    services.grant(Actor.system("tests"), own, Role.VIEWER, GrantScope(root_id=lake.pk))
    tom = Actor.acting_for(Person.objects.get(pk=own.pk))
    eve = Actor.acting_for(factories.appointed("eve", Role.OPERATOR, GrantScope(root_id=lake.pk)))
    wanted = WantedSchedule(Optimize(""), YEARLY, "Europe/Berlin", 60, root=lake.pk)
    with pytest.raises(Problem) as refused:
        acts.create(tom, "nightly", "r", wanted)
    assert refused.value.code == "forbidden"
    assert acts.create(eve, "nightly", "r", wanted).schedule.state == ACTIVE
    tagged = WantedSchedule(Optimize(""), YEARLY, "Europe/Berlin", 60, tag="gold")
    with pytest.raises(Problem) as refused:
        acts.create(eve, "tagged", "r", tagged)
    assert "any table may get the tag" in refused.value.detail


def test_a_protected_table_is_left_out_and_the_others_run(many: Any, two: list[Table]) -> None:
    schedule = many()
    here = GrantScope(table_id=two[0].pk)
    policy_services.add(Actor.system("tests"), "optimize", here, Terms("Ledger", 0), forbids=True)
    make_due(schedule)
    look()
    run_all()
    assert on(schedule) == {"a": SKIPPED, "b": "succeeded"}
    assert "the rule “Ledger” protects it" in texts(schedule)["a"]
    assert fresh(schedule).state == ACTIVE


def test_what_a_table_refuses_skips_it_alone(many: Any, two: list[Table]) -> None:
    schedule = many(command=Optimize("", zorder_by=["extra"]))
    wider = {"name": "extra", "type": "long", "nullable": True, "metadata": {}}
    small_delta.reshape(Path(two[1].path), {"type": "struct", "fields": [*small_delta.FIELDS, wider]})
    make_due(schedule)
    look()
    run_all()
    assert on(schedule) == {"a": SKIPPED, "b": "succeeded"}
    assert "extra" in texts(schedule)["a"]


def test_an_approval_covers_ordinary_runs_alone(many: Any, anna: Actor, two: list[Table]) -> None:
    for table in two:
        small_delta.compact(Path(table.path))
        grow_old(Path(table.path), {0: 40, 1: 30, 2: 20})
        syncing.sync(table.pk)
    schedule = many(command=Vacuum(""))
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    job = previewed(Vacuuming())
    look()
    assert (evaluate.approvals(job), Job.objects.get(pk=job.pk).state) == (1, State.QUEUED)
    preview = {**(job.preview or {}), "class": "short_retention"}
    Job.objects.filter(pk=job.pk).update(preview=preview)
    assert evaluate.approvals(job) == 0


def test_a_run_that_affects_more_than_an_ordinary_one_is_refused(many: Any, anna: Actor, lake: Root) -> None:
    place = Path(lake.uri) / "brief"
    old_table(place, {"delta.deletedFileRetentionDuration": "interval 2 days"})
    syncing.sync(factories.TableFactory(root=lake, name="brief", path=str(place), tags=["brief"]).pk)
    schedule = many(command=Vacuum(""), tag="brief")
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    job = previewed(Vacuuming())
    look()
    assert (job.state, (job.error or {}).get("code")) == (State.FAILED, "schedule_moved")
    assert "Define a schedule of this table" in str(job.error)
    assert on(schedule) == {"brief": "failed"}
    assert "affect more or less of the table" in texts(schedule)["brief"]


def test_a_table_that_fails_twice_is_left_out_until_the_schedule_is_resumed(
    many: Any, actor: Actor, two: list[Table]
) -> None:
    schedule = many()
    Table.objects.filter(pk=two[1].pk).update(hidden_at=timezone.now())
    engine = Compacting()
    engine.fails = True
    for minutes in (0.3, 0.2):
        make_due(schedule, minutes)
        look()
        run_all(engine)
    assert outcomes(schedule) == ["failed", "failed"]
    assert fresh(schedule).state == ACTIVE
    make_due(schedule, 0.1)
    look()
    assert (on(schedule), texts(schedule)["a"]) == ({"a": SKIPPED}, planning.LEFT_OUT)
    acts.resume(actor, acts.pause(actor, fresh(schedule)))
    make_due(schedule, 0.05)
    look()
    run_all()
    assert outcomes(schedule) == ["failed", "failed", "skipped", "succeeded"]


def test_it_says_how_its_newest_runs_went(many: Any, olga: Any, two: list[Table]) -> None:
    schedule = many()
    make_due(schedule)
    look()
    engine = Compacting()
    engine.fails = True
    previewed()
    look()
    ran(engine)
    look()
    found = queries.tally_of(olga, fresh(schedule))
    assert found is not None
    assert found.counts == {"failed": 1, "open": 1}
    assert fresh(schedule).failures == 1
    assert [row["name"] for row in queries.on_home(olga)] == ["nightly"]
    schedule.runs.filter(outcome="").update(outcome="succeeded")
    make_due(schedule)
    look()
    assert fresh(schedule).failures == 0


def test_a_pause_ends_what_is_planned_and_what_waits(many: Any, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    make_due(schedule)
    look()
    assert sorted(schedule.runs.values_list("is_planned", flat=True)) == [False, True]
    acts.pause(actor, fresh(schedule))
    assert set(on(schedule).values()) == {"ended"}
    assert Job.objects.get().state == State.CANCELLED


def test_one_schedule_has_few_jobs_at_once(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    make_due(schedule)
    for _ in range(3):
        look()
    assert Job.objects.count() == 1
    run_all()
    assert Job.objects.count() == 2
    run_all()
    assert on(schedule) == {"a": "succeeded", "b": "succeeded"}


def test_a_run_that_waits_for_more_approvals_takes_nobody_s_place(
    many: Any, anna: Actor, two: list[Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    factories.PolicyRuleFactory(name="optimizing", command="optimize")
    for table in two:
        policy_services.add(Actor.system("tests"), "optimize", GrantScope(table_id=table.pk), Terms(table.name, 2))
    schedule = many()
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    for _ in range(2):
        look()
        previewed()
    assert set(Job.objects.values_list("state", flat=True)) == {State.AWAITING_APPROVAL}
    assert Job.objects.count() == 2


@pytest.mark.parametrize("how", ["role", "account"])
def test_what_is_planned_is_not_opened_once_its_person_may_no_longer_ask(
    many: Any, olga: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    make_due(schedule)
    look()
    if how == "role":
        Grant.objects.filter(person=olga).delete()
    else:
        Person.objects.filter(pk=olga.pk).update(is_active=False)
    monkeypatch.setattr(planning, "MOST_OPEN", 2)
    look()
    look()
    assert (fresh(schedule).state, Job.objects.count()) == (STOPPED, 1)
    assert "ended" in on(schedule).values()


@pytest.mark.usefixtures("reviewed")
def test_what_is_planned_waits_once_its_approvals_no_longer_count(
    many: Any, anna: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    Grant.objects.filter(person=anna.person).delete()
    monkeypatch.setattr(planning, "MOST_OPEN", 2)
    look()
    look()
    assert (fresh(schedule).state, Job.objects.count()) == (AWAITING, 1)


def test_a_table_whose_log_can_not_be_read_now_stays_planned(many: Any, two: list[Table]) -> None:
    schedule = many()
    newest = Path(two[0].path) / "_delta_log" / f"{1:020d}.json"
    whole = newest.read_text()
    newest.write_text("{")
    make_due(schedule)
    look()
    assert on(schedule) == {"a": "", "b": ""}
    assert Job.objects.get().table == two[1]
    assert "The log can’t be read with certainty" in texts(schedule)["a"]
    newest.write_text(whole)
    look()
    assert Job.objects.count() == 2
    assert texts(schedule)["a"] == ""


def test_a_table_whose_log_could_not_be_read_in_the_window_is_skipped_with_why(many: Any, two: list[Table]) -> None:
    schedule = many()
    newest = Path(two[0].path) / "_delta_log" / f"{1:020d}.json"
    newest.write_text("{")
    make_due(schedule)
    look()
    schedule.runs.update(due_at=timezone.now() - timedelta(minutes=61))
    look()
    assert on(schedule)["a"] == SKIPPED
    assert "before its window" in texts(schedule)["a"]
    assert "The log can’t be read with certainty" in texts(schedule)["a"]


def test_what_was_not_opened_in_its_window_is_skipped_on_record(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    make_due(schedule)
    look()
    schedule.runs.update(due_at=timezone.now() - timedelta(minutes=61))
    look()
    assert sorted(outcomes(schedule)) == ["skipped", "skipped"]
    event = Event.objects.get(action=Action.SCHEDULE_SKIP)
    assert (event.after or {})["tables"] == 1


def test_one_that_was_due_while_levee_was_down_is_skipped_whole(many: Any) -> None:
    schedule = many()
    make_due(schedule, minutes_ago=61)
    look()
    event = Event.objects.get(action=Action.SCHEDULE_SKIP)
    assert ((event.after or {})["tables"], "on 2 tables" in event.reason) == (2, True)
    assert (on(schedule), Job.objects.exists()) == ({}, False)
    assert fresh(schedule).next_due_at is not None


def test_a_table_whose_run_is_still_open_is_not_planned_again(many: Any, lake: Root) -> None:
    schedule = many()
    make_due(schedule, 0.2)
    look()
    table_of(lake, "c")
    make_due(schedule, 0.1)
    look()
    assert on(schedule) == {"a": "", "b": "", "c": ""}
    assert schedule.runs.count() == 3
    assert (Event.objects.get(action=Action.SCHEDULE_SKIP).after or {})["tables"] == 2


def test_a_request_of_a_person_that_is_the_same_goes_before(many: Any, actor: Actor, two: list[Table]) -> None:
    request(actor, Optimize(str(two[0].pk)), "by hand")
    schedule = many()
    make_due(schedule)
    look()
    assert (on(schedule), texts(schedule)["a"]) == ({"a": SKIPPED, "b": ""}, planning.TAKEN)


def test_a_table_that_loses_the_tag_before_its_run_is_not_changed(many: Any, two: list[Table]) -> None:
    schedule = many(tag="gold")
    make_due(schedule)
    look()
    Table.objects.filter(pk=two[0].pk).update(tags=[])
    run_all()
    assert on(schedule) == {"a": "failed"}
    assert "isn’t one of all tables tagged gold any more" in texts(schedule)["a"]
    assert fresh(schedule).state == ACTIVE


def test_it_stops_once_its_person_no_longer_operates_all_of_it(many: Any, olga: Any) -> None:
    schedule = many()
    Grant.objects.filter(person=olga).delete()
    make_due(schedule)
    look()
    now = fresh(schedule)
    assert (now.state, "all tables of lake" in now.state_text) == (STOPPED, True)
    assert not schedule.runs.exists()


def test_it_stops_once_its_root_is_removed(many: Any, lake: Root) -> None:
    schedule = many()
    Root.ever.filter(pk=lake.pk).update(removed_at=timezone.now())
    make_due(schedule)
    look()
    assert (fresh(schedule).state, fresh(schedule).state_text.startswith("The root lake was removed")) == (
        STOPPED,
        True,
    )


def test_an_edit_keeps_the_place_and_voids_the_approvals(many: Any, actor: Actor, lake: Root) -> None:
    schedule = many()
    wanted = acts.wanted_of(schedule)
    changed = acts.change(actor, schedule, WantedSchedule(Optimize(""), "0 4 1 1 *", "UTC", 30, root=lake.pk))
    assert (changed.cron, changed.digest != schedule.digest, changed.root_id) == ("0 4 1 1 *", True, lake.pk)
    with pytest.raises(Problem) as refused:
        acts.change(actor, changed, WantedSchedule(wanted.command, YEARLY, "UTC", 30, tag="gold"))
    assert refused.value.fields == {"command": "A schedule keeps its table, root or tag: define another one instead."}


@pytest.mark.parametrize(("tag", "field"), [(" gold", "tag"), ("x" * 51, "tag"), ("go\nld", "tag")])
def test_a_tag_that_no_table_can_have_is_refused(many: Any, tag: str, field: str) -> None:
    with pytest.raises(Problem) as refused:
        many(tag=tag)
    assert list(refused.value.fields or {}) == [field]


def test_the_database_takes_no_run_of_another_table(many: Any, lake: Root) -> None:
    schedule = many(tag="gold")
    make_due(schedule)
    look()
    run, job = schedule.runs.get(), Job.objects.get()
    other = Table.objects.get(name="b")
    run.delete()
    said = {"schedule": schedule, "due_at": run.due_at, "digest": run.digest, "job": job}
    with pytest.raises(IntegrityError, match="no run of this schedule"), transaction.atomic():
        ScheduleRun.objects.create(**said, table=other, parameters_sha256=job.parameters_sha256)
    run = ScheduleRun.objects.create(**said, table=job.table, parameters_sha256=job.parameters_sha256)
    with pytest.raises(Exception, match="never changed"), transaction.atomic():
        ScheduleRun.objects.filter(pk=run.pk).update(table=other)
    with pytest.raises(IntegrityError, match="changes with its digest"), transaction.atomic():
        Schedule.objects.filter(pk=schedule.pk).update(tag="silver")
    with pytest.raises(IntegrityError, match="schedule_one_place"), transaction.atomic():
        Schedule.objects.filter(pk=schedule.pk).update(root=lake, digest="0" * 64)


@pytest.mark.parametrize("predicate", ["p = ", "p = 'FR' or", "rand() > 0.5 and ("])
def test_a_condition_that_fits_no_table_is_refused(many: Any, predicate: str) -> None:
    with pytest.raises(Problem) as refused:
        many(command=Optimize("", predicate))
    assert (refused.value.status, refused.value.code, list(refused.value.fields or {})) == (
        400,
        "predicate_refused",
        ["predicate"],
    )


def test_a_table_that_lacks_the_condition_s_columns_is_skipped(many: Any) -> None:
    schedule = many(command=Optimize("", "country = 'FR'"))
    make_due(schedule)
    look()
    assert on(schedule) == {"a": SKIPPED, "b": SKIPPED}
    assert "country" in texts(schedule)["a"]
