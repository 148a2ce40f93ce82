"""The database lets a job's state move exactly as jobs/domain/states.py says, whoever writes it."""

import pytest
from django.db import IntegrityError, transaction

from jobs.domain.states import TRANSITIONS, State
from jobs.models import Job
from tests import factories, servers

ALLOWED = {(t.source, t.target) for t in TRANSITIONS} | {(s, s) for s in State}


def is_refused(job, target):
    """True when the trigger refused; other constraints may refuse what is missing beside the state."""
    try:
        with transaction.atomic():
            Job.objects.filter(pk=job.pk).update(state=target)
            transaction.set_rollback(True)
    except IntegrityError as error:
        return error.__cause__.diag.constraint_name == "job_transition"  # type: ignore[union-attr]
    return False


@pytest.mark.django_db
@pytest.mark.parametrize("source", State)
def test_a_state_leads_where_it_may_and_nowhere_else(source):
    job = factories.job(source)
    assert {t for t in State if not is_refused(job, t)} == {t for t in State if (source, t) in ALLOWED}


@pytest.fixture
def as_in_real_life(postgres_server):
    """Factories enter jobs in any state: what holds that off is on for this test."""
    servers.set_trigger(postgres_server, "jobs_job", "job_begins", on=True)
    yield
    servers.set_trigger(postgres_server, "jobs_job", "job_begins", on=False)


def entering_is_refused(state):
    try:
        with transaction.atomic():
            factories.job(state)
    except IntegrityError as error:
        return error.__cause__.diag.constraint_name == "job_begins"  # type: ignore[union-attr]
    return False


@pytest.mark.django_db(transaction=True)  # a test's own transaction would hold the switch up
def test_a_job_begins_by_its_preview_and_in_no_other_state(as_in_real_life):
    assert [state for state in State if not entering_is_refused(state)] == [State.PREVIEWING]
