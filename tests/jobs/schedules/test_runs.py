"""Runs of schedules: opened when due, as ordinary jobs; what skips one, and what stops a schedule."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.accounts.authority import GrantScope
from console.accounts.models import Grant
from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.commands.vacuum.rules import Vacuum
from jobs.dispatcher import protected_jobs
from jobs.dispatcher.reconcile import reconcile
from jobs.domain.states import State
from jobs.lifecycle import cancelling
from jobs.models import Attempt, Job, Schedule
from jobs.policy import services as policy_services
from jobs.policy.services import Terms
from jobs.requests.asking import request
from jobs.schedules import acts, approvals
from jobs.worker.claims import claim_run
from tests.jobs import small_delta
from tests.jobs.dispatcher.test_reconcile import dead_holder, lapse
from tests.jobs.schedules.conftest import (
    Compacting,
    fresh,
    job_of,
    look,
    make_due,
    outcomes,
    previewed,
    ran,
)

pytestmark = pytest.mark.django_db(transaction=True)

ACTIVE, STOPPED = Schedule.State.ACTIVE, Schedule.State.STOPPED


def test_a_due_run_is_an_ordinary_job_in_the_name_of_its_person(make, olga, sales):
    schedule = make()
    assert look() == 0  # not due
    make_due(schedule)
    assert look() == 1
    job = job_of(schedule)
    assert (job.command, job.requested_by, job.state) == ("optimize", olga, State.PREVIEWING)
    assert job.reason == "Schedule nightly: many small files"
    assert previewed().state == State.QUEUED
    assert ran().state == State.SUCCEEDED
    look()
    assert outcomes(schedule) == ["succeeded"]
    after = fresh(schedule)
    assert after.state == ACTIVE
    assert after.next_due_at is not None
    assert after.next_due_at.month in {12, 1}  # the next new year in Berlin
    entered = Event.objects.get(action=Action.JOB_REQUEST, object_id=str(job.pk))
    assert entered.actor_name == "dispatcher"


def test_it_stops_once_a_rule_protects_its_table_and_none_is_defined_there(make, sales):
    schedule = make()
    here = GrantScope(table_id=sales.pk)
    rule = policy_services.add(Actor.system("tests"), "optimize", here, Terms("Ledger", 0), forbids=True)
    make_due(schedule)
    assert look() == 1
    now = fresh(schedule)
    assert (now.state, "the rule “Ledger” protects it" in now.state_text) == (STOPPED, True)
    assert not Job.objects.exists()
    with pytest.raises(Problem) as refused:
        make(name="another")
    assert refused.value.code == "protected"
    policy_services.change(Actor.system("tests"), rule, enabled=False)
    make(name="another")


def test_a_run_that_waits_ends_once_a_rule_protects_its_table(make, sales):
    schedule = make()
    make_due(schedule)
    look()
    assert previewed().state == State.QUEUED
    policy_services.add(Actor.system("tests"), "any", GrantScope(), Terms("Freeze", 0), forbids=True)
    assert protected_jobs.cancel() == 1
    look()
    assert outcomes(schedule) == ["ended"]


def test_nothing_to_do_is_a_run_that_succeeded(make, sales):
    small_delta.compact(Path(sales.path))
    schedule = make()
    make_due(schedule)
    look()
    assert (previewed().state, previewed_text(schedule)) == (State.SUCCEEDED, True)
    look()
    assert outcomes(schedule) == ["succeeded"]


def previewed_text(schedule: Schedule) -> bool:
    return job_of(schedule).no_op


def test_only_one_run_is_open_and_a_due_one_waits_in_its_window(make):
    schedule = make()
    make_due(schedule)
    look()
    make_due(schedule)
    assert look() == 0
    assert Job.objects.filter(schedule=schedule).count() == 1


def test_the_same_request_of_a_person_lets_it_wait(make, actor, sales, wanted):
    schedule = make()
    asked = request(actor, wanted.command, "now").job
    make_due(schedule)
    assert look() == 0
    cancelling.withdraw(actor, asked)
    assert look() == 1


def test_times_that_passed_are_caught_up_once_within_the_window_and_skipped_after_it(make):
    hourly = make(cron="0 * * * *", time_zone="UTC", window_minutes=60)
    make_due(hourly, minutes_ago=5 * 60)
    look()
    assert outcomes(hourly) == [""]  # five were missed, the newest of them runs
    yearly = make("yearly", window_minutes=60)
    make_due(yearly, minutes_ago=61)
    look()
    assert outcomes(yearly) == ["skipped"]
    assert Event.objects.filter(action=Action.SCHEDULE_SKIP, object_id=str(yearly.pk)).exists()
    assert fresh(yearly).state == ACTIVE


def test_a_run_that_could_not_start_in_its_window_is_ended(make):
    schedule = make()
    make_due(schedule)
    look()
    schedule.runs.update(due_at=make_due(schedule, minutes_ago=61))
    Schedule.objects.filter(pk=schedule.pk).update(next_due_at=None)
    assert look() == 1
    assert (job_of(schedule).state, outcomes(schedule)) == (State.CANCELLED, ["skipped"])


def test_two_failures_in_a_row_stop_it(make):
    schedule, broken = make(), Compacting()
    broken.fails = True
    for failed in (1, 2):
        make_due(schedule)
        look()
        previewed()
        assert ran(broken).state == State.FAILED
        look()
        assert fresh(schedule).failures == failed
    stopped = fresh(schedule)
    assert (stopped.state, stopped.next_due_at) == (STOPPED, None)
    assert "2 runs in a row failed" in stopped.state_text
    assert "Files were added" in stopped.state_text
    assert Event.objects.filter(action=Action.SCHEDULE_STOP, object_id=str(schedule.pk)).exists()


def test_a_success_between_two_failures_lets_it_go_on(make):
    schedule, broken = make(), Compacting()
    broken.fails = True
    for engine in (broken, Compacting(), broken):
        small_delta.append(Path(schedule.table.path), [{"id": 51, "p": "FR"}])
        make_due(schedule)
        look()
        previewed()
        ran(engine)
        look()
    assert (fresh(schedule).state, outcomes(schedule)) == (ACTIVE, ["failed", "succeeded", "failed"])


def reshape(table) -> None:
    wider = {"name": "more", "type": "string", "nullable": True, "metadata": {}}
    small_delta.reshape(Path(table.path), {"type": "struct", "fields": [*small_delta.FIELDS, wider]})


def test_another_schema_stops_it_before_a_run_is_opened(make, sales, actor):
    schedule = make()
    reshape(sales)
    make_due(schedule)
    look()
    assert (fresh(schedule).state, Job.objects.filter(schedule=schedule).count()) == (STOPPED, 0)
    assert "schema or partitioning has changed" in fresh(schedule).state_text
    with pytest.raises(Exception, match="schema or partitioning has changed"):
        acts.resume(actor, fresh(schedule))
    changed = acts.change(actor, fresh(schedule), acts.wanted_of(schedule))
    assert changed.state == ACTIVE


@pytest.mark.parametrize("moment", ["preview", "run"])
def test_another_schema_stops_it_while_its_run_is_open(make, sales, moment):
    schedule = make()
    make_due(schedule)
    look()
    if moment == "run":
        previewed()
    reshape(sales)
    ended = previewed() if moment == "preview" else ran()
    assert ended.state in {State.FAILED, State.STALE}
    assert small_delta.head(Path(sales.path)) == 2  # nothing was committed
    look()
    if moment == "preview":
        assert (ended.error or {})["code"] == "schedule_moved"
        assert fresh(schedule).state == STOPPED
    else:  # the command itself noticed; the next time nothing is opened
        make_due(schedule)
        look()
        assert fresh(schedule).state == STOPPED


def test_other_properties_stop_it(make, sales):
    schedule = make()
    first = (Path(sales.path) / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    import json

    [metadata] = [each["metaData"] for each in map(json.loads, first) if "metaData" in each]
    small_delta.commit(
        Path(sales.path),
        "SET TBLPROPERTIES",
        [{"metaData": metadata | {"configuration": {"delta.targetFileSize": "1m"}}}],
    )
    make_due(schedule)
    look()
    assert "properties have changed" in fresh(schedule).state_text


def test_a_run_over_its_bound_of_bytes_is_refused(make):
    schedule = make(max_bytes=10)
    make_due(schedule)
    look()
    ended = previewed()
    assert (ended.state, (ended.error or {})["code"]) == (State.FAILED, "bound_exceeded")
    look()
    assert (outcomes(schedule), fresh(schedule).state) == (["failed"], ACTIVE)


def test_the_bound_is_held_against_the_table_as_it_is_right_before_the_run(make, sales):
    size = sum(file.stat().st_size for file in Path(sales.path, "p=FR").iterdir())
    schedule = make(max_bytes=size)
    make_due(schedule)
    look()
    assert previewed().state == State.QUEUED
    small_delta.append(Path(sales.path), [{"id": 60, "p": "FR"}])
    ended = ran()
    assert (ended.state, (ended.error or {})["code"]) == (State.FAILED, "bound_exceeded")
    assert small_delta.head(Path(sales.path)) == 2


def test_a_bound_of_minutes_is_the_time_limit_of_the_run(make):
    from jobs.schedules.refusals import run_limit

    schedule = make(max_minutes=7)
    make_due(schedule)
    look()
    assert run_limit(job_of(schedule), 3600) == 7 * 60
    assert run_limit(job_of(schedule), 60) == 60
    assert run_limit(Job(), 3600) == 3600


def test_a_run_that_was_killed_at_its_bound_is_ended_with_that_bound(make):
    schedule = make(max_minutes=7)
    make_due(schedule)
    look()
    previewed()
    claim = claim_run(dead_holder())
    assert claim is not None
    Attempt.objects.filter(pk=claim.attempt_id).update(outcome="limit")
    lapse(claim.job)
    reconcile()
    ended = job_of(schedule)
    assert (ended.state, (ended.error or {})["code"]) == (State.FAILED, "time_limit")
    assert "the limit of 420 s" in (ended.error or {})["message"]


@pytest.mark.parametrize("lost", ["account", "role"])
def test_a_person_who_may_no_longer_request_it_stops_it(make, olga, lost):
    schedule = make()
    if lost == "account":
        olga.is_active = False
        olga.save()
    else:
        Grant.objects.filter(person=olga).delete()
    make_due(schedule)
    look()
    assert fresh(schedule).state == STOPPED
    assert "olga" in fresh(schedule).state_text
    assert not Job.objects.filter(schedule=schedule).exists()


@pytest.mark.parametrize("moment", ["preview", "run"])
def test_a_person_who_loses_the_right_while_its_run_waits_stops_it(make, olga, sales, moment):
    schedule = make()
    make_due(schedule)
    look()
    if moment == "run":
        previewed()
    Grant.objects.filter(person=olga).delete()
    ended = previewed() if moment == "preview" else ran()
    assert (ended.state, (ended.error or {})["code"]) == (State.FAILED, "forbidden")
    assert small_delta.head(Path(sales.path)) == 1
    look()
    assert fresh(schedule).state == STOPPED
    assert "olga, who may no longer request jobs" in fresh(schedule).state_text


def test_its_approvals_are_those_of_its_runs(make, anna, reviewed):
    schedule = make()
    assert schedule.state == Schedule.State.AWAITING_APPROVAL
    make_due_not = fresh(schedule).next_due_at
    assert make_due_not is None
    approvals.approve(anna, schedule, schedule.digest)
    assert fresh(schedule).state == ACTIVE
    make_due(schedule)
    look()
    waiting = previewed()
    assert (waiting.state, waiting.policy["required_approvals"]) == (State.QUEUED, 1)
    assert ran().state == State.SUCCEEDED


def test_without_its_approver_it_waits_again(make, anna, reviewed):
    schedule = make()
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    assert previewed().state == State.QUEUED
    Grant.objects.filter(person=anna.person).delete()
    from jobs.dispatcher import lost_quorum

    assert lost_quorum.send_back() == 1
    look()
    assert job_of(schedule).state == State.AWAITING_APPROVAL
    cancelling.withdraw(type(anna).acting_for(schedule.run_by), job_of(schedule))
    look()
    make_due(schedule)
    look()
    assert fresh(schedule).state == Schedule.State.AWAITING_APPROVAL


def test_a_stricter_rule_makes_it_wait_for_its_approvals(make, reviewed, db):
    from tests import factories

    schedule = make("second")
    assert schedule.state == Schedule.State.AWAITING_APPROVAL
    factories.PolicyRuleFactory(name="two of them", command="optimize", required_approvals=2)
    assert approvals.required(schedule) == 2


def test_pause_ends_a_waiting_run(make, actor):
    schedule = make()
    make_due(schedule)
    look()
    acts.pause(actor, fresh(schedule))
    assert (job_of(schedule).state, outcomes(schedule)) == (State.CANCELLED, ["ended"])
    assert look() == 0
    assert acts.resume(actor, fresh(schedule)).state == ACTIVE


@pytest.mark.parametrize(("hours", "needed"), [(None, 1), (1, 2)])
def test_a_vacuum_needs_what_the_rules_ask_for_its_class(make, sales, hours, needed):
    schedule = make(command=Vacuum(str(sales.pk), retention_hours=hours))
    assert (schedule.state, approvals.required(schedule)) == (Schedule.State.AWAITING_APPROVAL, needed)
    assert schedule.table_class == ("short_retention" if needed == 2 else "ordinary")
