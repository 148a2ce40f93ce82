"""A vacuum that a schedule runs: nobody reads its preview, so it deletes nothing that anything else still needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.clone.rules import Clone
from jobs.commands.restore.rules import Restore
from jobs.commands.vacuum.rules import Vacuum
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.lifecycle.cancelling import digest_of
from jobs.models import Job, Schedule
from jobs.requests.asking import request
from jobs.schedules import acts, approvals
from jobs.schedules.definition import WantedSchedule
from jobs.streams import acts as streams
from jobs.worker.claims import claim_preview, claim_run
from tables.models import Table
from tables.rules.health_findings import HealthCode
from tables.sync import log_access
from tests import factories
from tests.jobs.commands.vacuum.test_flow import Vacuuming, files_of, worked
from tests.jobs.schedules.conftest import YEARLY, fresh, look, make_due, outcomes
from tests.jobs.web.commands.vacuum.conftest import old_table

pytestmark = pytest.mark.django_db(transaction=True)
HALF_A_DAY = 12
"""Hours with which the files that versions 1 to 3 removed go."""


@pytest.fixture(autouse=True)
def quick(timing: Any, no_wakes: Any) -> Any:
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake: Any) -> Table:
    path = Path(lake.uri) / "sales"
    old_table(path)
    table: Table = factories.TableFactory(root=lake, path=str(path), name="sales")
    log_access.sync(table.pk)
    return table


def weekly(olga: Person, sales: Table, hours: int | None = HALF_A_DAY) -> Schedule:
    """An approved schedule of a vacuum."""
    wanted = WantedSchedule(Vacuum(str(sales.pk), hours), YEARLY, "UTC", window_minutes=60)
    schedule = acts.create(Actor.acting_for(olga), "weekly", "make room", wanted).schedule
    for _ in range(approvals.required(schedule)):
        approvals.approve(Actor.acting_for(factories.person_with("approver")), schedule, schedule.digest)
    return fresh(schedule)


def a_stream(olga: Person, sales: Table) -> None:
    wanted = {"source": {"table": str(sales.pk), "starting_version": 1}, "target": {"path": f"{sales.root.uri}/copy"}}
    streams.create(Actor.acting_for(olga), "copy", "a copy", wanted | {"output_mode": "append"})


def a_request(olga: Person, sales: Table) -> None:
    factories.job_on(sales, olga, Restore(str(sales.pk), 2, sales.path), State.AWAITING_APPROVAL)


def a_clone(olga: Person, sales: Table) -> None:
    layout = {"outside_files": 3, "outside_under": sales.path}
    codes = [HealthCode.OUTSIDE_FILES.value]
    copy = factories.TableFactory(root=sales.root, name="copy", health_codes=codes, layout=layout)
    command = Clone(str(sales.pk), copy.path, "shallow", 2, sales.path, copy.path, "sales")
    result = Result(0, "CLONE").as_json()
    factories.job_on(copy, olga, command, State.SUCCEEDED, version=0, result=result, finished_at=timezone.now())


# Hours below what a stream needs are refused of any vacuum: it is the table's own retention that takes files from one.
CAME = [
    (a_stream, None, "The stream copy"),
    (a_request, HALF_A_DAY, "The restore"),
    (a_clone, HALF_A_DAY, "The shallow clone copy"),
]


@pytest.mark.parametrize(("came", "hours", "named"), CAME)
def test_what_came_since_the_schedule_was_approved_keeps_its_files(olga, sales, came, hours, named):
    schedule, before = weekly(olga, sales, hours), files_of(sales)
    came(olga, sales)
    make_due(schedule)
    assert look() == 1
    job = worked(claim_preview, Vacuuming())
    error = job.error or {}
    assert (job.state, error["code"]) == (State.FAILED, "needed")
    assert named in error["message"]
    assert "Request the job itself" in error["what_to_do"]
    look()
    assert (outcomes(schedule), fresh(schedule).state) == (["failed"], Schedule.State.ACTIVE)
    assert files_of(sales) == before


def test_a_preview_of_an_earlier_release_is_judged_by_all_that_it_names(olga, sales):
    """It had no list of its own for what only a person may weigh."""
    schedule, before = weekly(olga, sales), files_of(sales)
    make_due(schedule)
    look()
    job = worked(claim_preview, Vacuuming())
    older = {name: value for name, value in (job.preview or {}).items() if name != "in_use"}
    job.preview = older | {"needed_by": ["The stream copy needs 2 files."]}
    Job.objects.filter(pk=job.pk).update(preview=job.preview, digest=digest_of(job))
    look()
    job = worked(claim_run, Vacuuming())
    error = job.error or {}
    assert (job.state, error["code"]) == (State.FAILED, "needed")
    assert "The stream copy needs 2 files." in error["message"]
    assert files_of(sales) == before


@pytest.mark.parametrize(("came", "hours", "named"), CAME)
def test_what_is_there_already_is_named_to_whoever_defines_the_schedule(olga, sales, came, hours, named):
    came(olga, sales)
    with pytest.raises(Problem) as refused:
        weekly(olga, sales, hours)
    assert refused.value.code == "needed"
    assert named in refused.value.detail
    assert not Schedule.objects.exists()


def test_a_job_that_people_read_and_approve_goes_on(olga, sales):
    a_clone(olga, sales)
    request(Actor.acting_for(olga), Vacuum(str(sales.pk), HALF_A_DAY), "make room")
    assert worked(claim_preview, Vacuuming()).state == State.AWAITING_APPROVAL


def test_without_any_of_them_it_runs(olga, sales):
    schedule = weekly(olga, sales)
    make_due(schedule)
    look()
    worked(claim_preview, Vacuuming())
    look()
    done = worked(claim_run, Vacuuming())
    assert (done.state, done.error) == (State.SUCCEEDED, None)


def test_where_nothing_is_old_a_clone_stands_in_no_schedule_s_way(olga, sales):
    schedule = weekly(olga, sales)
    make_due(schedule, minutes_ago=1)
    look()
    worked(claim_preview, Vacuuming())
    look()
    worked(claim_run, Vacuuming())
    look()
    a_clone(olga, sales)
    make_due(schedule)
    assert look() == 1
    job = worked(claim_preview, Vacuuming())
    assert (job.state, job.no_op) == (State.SUCCEEDED, True)
    assert not Job.objects.filter(state=State.FAILED).exists()
