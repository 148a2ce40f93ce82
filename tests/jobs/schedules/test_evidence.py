"""What proves afterwards that a run of an approved schedule was approved."""

from __future__ import annotations

import pytest

from jobs.dispatcher.attribution import Verdict, _approved
from jobs.evidence.consistency import differences
from jobs.schedules import acts, approvals
from tests.jobs.schedules.conftest import fresh, job_of, look, make_due, previewed, ran

pytestmark = pytest.mark.django_db(transaction=True)


def kinds() -> set[str]:
    return {finding.kind for finding in differences()}


def test_the_approval_of_the_definition_explains_the_commits_of_its_runs(make, anna, actor, reviewed):
    schedule = make()
    approvals.approve(anna, schedule, schedule.digest)
    make_due(schedule)
    look()
    previewed()
    assert ran().version == 2
    acts.change(actor, fresh(schedule), acts.wanted_of(schedule))  # voids the approval, but not what it allowed
    job = job_of(schedule)
    assert _approved(job).verdict == Verdict.APPROVED
    assert "approval_missing" not in kinds()
    assert "event_missing" not in kinds()
    job.schedule_id = None
    job.save(update_fields=["schedule"])
    assert _approved(job).verdict == Verdict.UNAPPROVED
    assert "approval_missing" in kinds()
