"""What the database and the worker refuse of rows that something else than Levee wrote: approvals are for what was approved alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import Error, connection, connections, transaction

from console.accounts.roles import Role
from jobs.commands.optimize.rules import Optimize
from jobs.domain.states import State
from jobs.models import Job, Schedule, ScheduleRun
from jobs.policy import evaluate
from jobs.requests.asking import request
from jobs.schedules import acts, approvals
from jobs.schedules.definition import digest_of_row
from jobs.schedules.refusals import NOT_AS_APPROVED, check_before_run
from tests import factories
from tests.jobs.schedules.conftest import fresh, job_of, look, make_due, outcomes, previewed, ran

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "admin"])


@pytest.fixture
def approved(make, anna, reviewed) -> Schedule:
    schedule = make()
    approvals.approve(anna, schedule, schedule.digest)
    return fresh(schedule)


TRIGGERS = {"jobs_job": "job_schedule_kept", "jobs_schedule": "schedule_kept"}


def without_trigger(table: str, sql: str, *values: Any) -> None:
    """As the database's owner could, who may switch a trigger off."""
    with transaction.atomic("admin"), connections["admin"].cursor() as cursor:
        cursor.execute(f"alter table {table} disable trigger {TRIGGERS[table]}")
        cursor.execute(f"update {table} set {sql}", values)
        cursor.execute("set constraints all immediate")
        cursor.execute(f"alter table {table} enable trigger {TRIGGERS[table]}")


def test_a_job_that_somebody_requested_takes_no_approval_of_a_schedule(approved, actor, wanted):
    job = request(actor, Optimize(wanted.command.table, predicate="p = 'FR'"), "mine").job
    assert previewed().state == State.AWAITING_APPROVAL
    with pytest.raises(Error, match="becomes no run of a schedule"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(schedule=approved)
    without_trigger("jobs_job", "schedule_id = %s where id = %s", approved.pk, job.pk)
    claimed = {
        "schedule": approved,
        "table": job.table,
        "due_at": job.requested_at,
        "job": job,
        "digest": approved.digest,
    }
    with pytest.raises(Error, match="no run of this schedule"), transaction.atomic():
        ScheduleRun.objects.create(**claimed, parameters_sha256=job.parameters_sha256)
    assert evaluate.approvals(Job.objects.get(pk=job.pk)) == 0
    with pytest.raises(Error, match="lacks its quorum"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(state=State.QUEUED)


CHANGED = (
    "parameters = jsonb_set(parameters, '{full}', 'true'), parameters_sha256 = 'x'",
    "command = 'reorg'",
    "requested_by_id = (select id from accounts_person where name = 'anna')",
    "preview = jsonb_set(preview, '{class}', '\"whole_table\"')",
    "preview = jsonb_set(preview, '{table_id}', '\"another\"')",
    "revision = 2",
    "schedule_id = null",
)


def test_a_run_that_was_changed_has_no_approvals(approved):
    make_due(approved)
    look()
    assert previewed().state == State.QUEUED
    job = job_of(approved)
    assert evaluate.approvals(job) == 1
    for change in CHANGED:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"update jobs_job set {change} where id = %s", [job.pk])
            assert evaluate.approvals(Job.objects.get(pk=job.pk)) == 0, change
            transaction.set_rollback(True)
    Job.objects.filter(pk=job.pk).update(state=State.AWAITING_APPROVAL, revision=2)
    with pytest.raises(Error, match="lacks its quorum"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(state=State.QUEUED)


def test_what_a_schedule_ran_is_never_changed(approved, actor, wanted):
    make_due(approved)
    look()
    other = request(actor, Optimize(wanted.command.table, predicate="p = 'FR'"), "mine").job
    for change in ({"digest": "0" * 64}, {"parameters_sha256": "0" * 64}, {"job": other}):
        with pytest.raises(Error, match="never changed"), transaction.atomic():
            approved.runs.update(**change)


def test_a_definition_is_not_changed_below_its_digest(approved):
    for change, said in (
        ({"cron": "* * * * *"}, "changes with its digest"),
        ({"max_bytes": 5}, "changes with its digest"),
        ({"parameters": {"table": "other"}}, "changes with its digest"),
        ({"edited_by": []}, "never forgotten"),
    ):
        with pytest.raises(Error, match=said), transaction.atomic():
            Schedule.objects.filter(pk=approved.pk).update(**change)


def test_a_definition_does_not_take_the_digest_of_an_approved_one(approved):
    Schedule.objects.filter(pk=approved.pk).update(cron="* * * * *", digest="0" * 64)
    assert approvals.approvals(fresh(approved)) == 0
    with pytest.raises(Error, match="no approvals"), transaction.atomic():
        Schedule.objects.filter(pk=approved.pk).update(digest=approved.digest)


def test_nobody_else_s_name_takes_over_its_approvals(approved):
    with pytest.raises(Error, match="no approvals"), transaction.atomic():
        Schedule.objects.filter(pk=approved.pk).update(run_by=factories.appointed("rob", Role.OPERATOR))


@pytest.mark.parametrize("moment", ["before", "preview", "run"])
def test_a_definition_that_no_longer_yields_its_digest_stops(approved, moment):
    make_due(approved)
    if moment != "before":
        look()
    if moment == "run":
        previewed()
    without_trigger("jobs_schedule", "parameters = jsonb_set(parameters, '{full}', 'true')")
    if moment != "before":
        ended = previewed() if moment == "preview" else ran()
        assert (ended.state, (ended.error or {})["message"]) == (State.FAILED, NOT_AS_APPROVED)
    look()
    assert NOT_AS_APPROVED in fresh(approved).state_text
    assert fresh(approved).state == Schedule.State.STOPPED


def test_a_run_whose_predicate_is_not_the_defined_one_does_not_run(make, actor, wanted, anna, reviewed):
    schedule = make(command=Optimize(wanted.command.table, predicate="p = 'FR'"))
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    assert previewed().state == State.QUEUED
    assert ran().state == State.SUCCEEDED  # the one that was defined does
    look()
    assert outcomes(schedule) == ["succeeded"]
    without_trigger("jobs_schedule", "parameters = jsonb_set(parameters, '{predicate}', '\"p = ''DE''\"')")
    row = fresh(schedule)
    without_trigger("jobs_schedule", "digest = %s", digest_of_row(row))
    with pytest.raises(Exception, match="isn’t the command of its schedule"):
        check_before_run(job_of(schedule), dict)


def test_a_change_by_the_service_is_none_of_these(approved, actor):
    assert acts.change(actor, approved, acts.wanted_of(approved), name="other").name == "other"
