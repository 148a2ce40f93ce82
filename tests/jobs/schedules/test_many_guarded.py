"""What is held to of schedules for many tables: by the database, beside other dispatchers, and towards people who see a part of them."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from console.accounts.authority import GrantScope
from console.accounts.models import Grant, Person
from console.accounts.roles import Role
from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.commands.vacuum.rules import Vacuum
from jobs.dispatcher import schedules
from jobs.domain.states import State
from jobs.models import Job, Schedule, ScheduleDecision, ScheduleRun
from jobs.policy import evaluate
from jobs.policy import services as policy_services
from jobs.policy.services import Terms
from jobs.schedules import approvals, closing, opening, planning, queries
from jobs.worker.claims import claim_run
from tables.models import Root, Table
from tests import factories
from tests.jobs.schedules.conftest import (
    Compacting,
    fresh,
    look,
    make_due,
    on,
    previewed,
    run_all,
    table_of,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)
ACTIVE, STOPPED = Schedule.State.ACTIVE, Schedule.State.STOPPED


def failing() -> Compacting:
    engine = Compacting()
    engine.fails = True
    return engine


# --- towards people ---------------------------------------------------------------------------------------------------


def test_home_tells_no_failure_of_a_table_that_the_reader_may_not_see(
    many: Any, olga: Person, two: list[Table]
) -> None:
    schedule = many()
    Table.objects.filter(pk=two[0].pk).update(hidden_at=timezone.now())
    make_due(schedule)
    look()
    run_all(failing())
    assert on(schedule) == {"b": "failed"}
    Table.objects.update(hidden_at=None)
    tom = factories.appointed("tom", Role.VIEWER, GrantScope(table_id=two[0].pk))
    told = {who.name: queries.on_home(Person.objects.get(pk=who.pk)) for who in (tom, olga)}
    assert [row["name"] for row in told["tom"]] == ["nightly"]
    assert told["tom"][0]["failed_text"] is None
    assert "Files were added" in told["olga"][0]["failed_text"]


def test_the_list_says_when_it_was_due_to_all_who_see_it(many: Any, two: list[Table], client: Any) -> None:
    schedule = many()
    make_due(schedule)
    look()
    run_all(failing())
    tom = factories.appointed("tom", Role.VIEWER, GrantScope(table_id=two[0].pk))
    client.force_login(tom)
    page = client.get("/schedules/").content.decode()
    assert "It was never due" not in page
    assert "2 tables failed" in page


def test_what_was_skipped_is_on_record_with_its_table(many: Any, two: list[Table]) -> None:
    schedule = many()
    here = GrantScope(table_id=two[0].pk)
    policy_services.add(Actor.system("tests"), "optimize", here, Terms("Ledger", 0), forbids=True)
    make_due(schedule)
    look()
    told = Event.objects.filter(action=Action.SCHEDULE_SKIP).values_list("table_id", "reason")
    assert [(table, "Ledger" in reason) for table, reason in told] == [(two[0].pk, True)]


def test_a_table_that_was_left_out_stays_in_sight(many: Any, olga: Person, two: list[Table]) -> None:
    schedule = many()
    Table.objects.filter(pk=two[1].pk).update(hidden_at=timezone.now())
    for minutes in (0.3, 0.2, 0.1):
        make_due(schedule, minutes)
        look()
        run_all(failing())
    assert texts(schedule)["a"] == planning.LEFT_OUT
    assert fresh(schedule).failures == 1
    assert [row["name"] for row in queries.on_home(olga)] == ["nightly"]


def test_failures_are_those_of_the_newest_time(many: Any, two: list[Table]) -> None:
    schedule = many()
    Table.objects.filter(pk=two[1].pk).update(hidden_at=timezone.now())
    make_due(schedule, 0.3)
    look()
    run_all(failing())
    assert fresh(schedule).failures == 1
    Table.objects.update(hidden_at=timezone.now())
    make_due(schedule, 0.2)
    look()
    assert fresh(schedule).failures == 1, "a time without tables hides no failure"
    Table.objects.update(hidden_at=None)
    make_due(schedule, 0.1)
    look()
    assert fresh(schedule).failures == 0
    schedule.runs.filter(table=two[0], outcome="").update(due_at=timezone.now() - timedelta(minutes=5))
    run_all(failing())
    assert fresh(schedule).failures == 1, "the late end of an earlier time isn't counted"


# --- what can't run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["role", "account"])
def test_it_stops_by_a_run_whose_person_may_no_longer_ask(many: Any, olga: Person, how: str) -> None:
    schedule = many()
    make_due(schedule)
    look()
    assert Job.objects.count() == 2
    if how == "role":
        Grant.objects.filter(person=olga).delete()
    else:
        Person.objects.filter(pk=olga.pk).update(is_active=False)
    while Job.objects.filter(state=State.PREVIEWING).exists():
        previewed()
    look()
    assert fresh(schedule).state == STOPPED
    assert "may no longer request jobs on all tables of lake" in fresh(schedule).state_text


def test_a_vacuum_that_keeps_less_than_a_week_is_none_for_many(many: Any) -> None:
    with pytest.raises(Problem) as refused:
        many(command=Vacuum("", 24))
    assert (refused.value.status, list(refused.value.fields or {})) == (400, ["retention_hours"])
    assert many(command=Vacuum("", 168)).pk


def test_a_root_that_a_rule_protects_as_a_whole_has_none(many: Any, lake: Root) -> None:
    everywhere = GrantScope(root_id=lake.pk)
    policy_services.add(Actor.system("tests"), "optimize", everywhere, Terms("Ledger", 0), forbids=True)
    with pytest.raises(Problem) as refused:
        many()
    assert (refused.value.status, refused.value.code) == (409, "protected")


# --- side by side -----------------------------------------------------------------------------------------------------


def test_two_dispatchers_open_a_planned_run_once(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have prepared it before either enters it."""
    schedule = many(tag="gold")
    make_due(schedule)
    opening.open_if_due(schedule.pk)
    run, prepared = schedule.runs.get(), planning._prepared
    both = threading.Barrier(2, timeout=20)

    def at_once(*given: Any) -> Any:
        ready = prepared(*given)
        both.wait()
        return ready

    monkeypatch.setattr(planning, "_prepared", at_once)

    def dispatcher(_number: int) -> bool:
        try:
            return opening.open_planned(run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(dispatcher, range(2))) == [False, True]
    assert Job.objects.filter(schedule=schedule).count() == 1


def test_two_dispatchers_keep_to_the_most_that_are_open(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_OPEN", 1)
    schedule = many()
    make_due(schedule)
    opening.open_if_due(schedule.pk)
    prepared, both = planning._prepared, threading.Barrier(2, timeout=20)

    def at_once(*given: Any) -> Any:
        ready = prepared(*given)
        both.wait()
        return ready

    monkeypatch.setattr(planning, "_prepared", at_once)

    def dispatcher(pk: int) -> bool:
        try:
            return opening.open_planned(pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(dispatcher, schedule.runs.values_list("pk", flat=True))) == [False, True]


def test_one_with_many_tables_holds_up_no_other(
    many: Any, lake: Root, monkeypatch: pytest.MonkeyPatch, two: list[Table]
) -> None:
    for number in range(4):
        table_of(lake, f"more{number}", "more")
    large, small = many("large", tag="more"), many("small", tag="gold")
    for schedule in (large, small):
        make_due(schedule)
    monkeypatch.setattr(schedules, "SECONDS", 0.0)  # one act in a look
    for _ in range(6):
        look()
    opened = [schedule.runs.filter(is_planned=False).count() for schedule in (large, small)]
    assert opened[0] >= 1
    assert opened[1] == 1


def test_a_schedule_that_fails_its_look_holds_up_no_other(many: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = many("first", tag="gold"), many("second")
    monkeypatch.setattr(planning, "MOST_OPEN", 0)
    for schedule in (first, second):
        make_due(schedule)
    look()
    schedule_of = dict.fromkeys(ScheduleRun.objects.values_list("schedule", flat=True))
    assert set(schedule_of) == {first.pk, second.pk}
    broken, ended = min(schedule_of), closing.end_planned

    def end(pk: Any) -> bool:
        if pk == broken:
            raise RuntimeError("no such thing")
        return ended(pk)

    monkeypatch.setattr(closing, "end_planned", end)
    ScheduleRun.objects.update(due_at=timezone.now() - timedelta(hours=2))
    look()
    left = ScheduleRun.objects.filter(outcome="").order_by().values_list("schedule", flat=True).distinct()
    assert list(left) == [broken]


# --- what the database holds ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("reviewed")
def test_a_table_that_loses_its_tag_loses_the_approvals(many: Any, anna: Actor) -> None:
    schedule = many(tag="gold")
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    job = previewed()
    look()
    assert (Job.objects.get().state, evaluate.approvals(job)) == (State.QUEUED, 1)
    Table.objects.filter(pk=job.table_id).update(tags=["silver"])
    assert evaluate.approvals(job) == 0
    assert claim_run(factories.holder()) is None


@pytest.mark.usefixtures("reviewed")
def test_an_approver_of_the_whole_root_counts_and_of_a_part_does_not(many: Any, lake: Root, two: list[Table]) -> None:
    of_lake, tagged = many(), many("tagged", tag="gold")
    other = factories.RootFactory(name="other", uri="/nowhere/other")
    scopes = {
        "root": GrantScope(root_id=lake.pk), "other": GrantScope(root_id=other.pk), "table": GrantScope(table_id=two[0].pk),
    }  # fmt: skip
    people = {name: factories.appointed(name, Role.APPROVER, scope) for name, scope in scopes.items()}

    def counted(schedule: Schedule, name: str) -> int:
        given = {"schedule": schedule, "person": people[name], "digest": schedule.digest, "decision": "approve"}
        with transaction.atomic():
            ScheduleDecision.objects.create(**given)
            found = approvals.approvals(schedule)
            transaction.set_rollback(True)
        return found

    assert [counted(of_lake, name) for name in scopes] == [1, 0, 0]
    assert [counted(tagged, name) for name in scopes] == [0, 0, 0]


def _unbooked(schedule: Schedule) -> tuple[ScheduleRun, Job, str]:
    """The only run of a schedule, taken away; its job; and what the run said."""
    run, job = schedule.runs.get(), Job.objects.get()
    run.delete()
    return run, job, job.parameters_sha256


def test_a_job_whose_command_names_another_table_is_no_run(many: Any, two: list[Table]) -> None:
    schedule = many(tag="gold")
    make_due(schedule)
    look()
    run, job, _ = _unbooked(schedule)
    said = {"schedule": schedule, "due_at": run.due_at, "digest": run.digest, "table": job.table}

    def book(named: Table, sha: str) -> None:
        copied = Job.objects.get(pk=job.pk)
        copied.pk, copied.parameters_sha256 = uuid.uuid4(), sha
        copied.parameters = {**job.parameters, "table": str(named.pk)}
        copied.save(force_insert=True)
        ScheduleRun.objects.create(**said, job=copied, parameters_sha256=sha)

    with pytest.raises(IntegrityError, match="no run of this schedule"), transaction.atomic():
        book(two[1], "1" * 64)
    book(two[0], "2" * 64)


def test_what_was_skipped_or_opened_is_never_opened_again(many: Any, two: list[Table]) -> None:
    schedule = many(tag="gold")
    make_due(schedule)
    look()
    run, job, sha = _unbooked(schedule)
    said = {"schedule": schedule, "due_at": run.due_at, "digest": run.digest, "table": job.table}
    skipped = ScheduleRun.objects.create(**said, is_planned=True, outcome="skipped", ended_at=timezone.now())
    opens = {"job": job, "is_planned": False, "parameters_sha256": sha}
    for change in (opens, {**opens, "outcome": ""}):
        with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
            ScheduleRun.objects.filter(pk=skipped.pk).update(**change)
    opened = ScheduleRun.objects.create(**said, job=job, parameters_sha256=sha)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        ScheduleRun.objects.filter(pk=opened.pk).update(is_planned=True)


def test_a_run_of_an_older_part_takes_the_table_of_its_schedule(make: Any) -> None:
    schedule = make()
    with connection.cursor() as cursor:
        cursor.execute(
            "insert into jobs_schedulerun (schedule_id, due_at, digest, parameters_sha256, outcome, text, opened_at)"
            " values (%s, now(), %s, '', 'skipped', '', now())",
            [schedule.pk, schedule.digest],
        )
    assert schedule.runs.get().table_id == schedule.table_id
