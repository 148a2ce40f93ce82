"""What the database's triggers refuse of a decision is told in words, however it came that far."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from console.accounts.roles import Role
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem, broken
from jobs.approvals import decisions
from jobs.domain.states import State
from jobs.models import Decision, Job
from tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting() -> Job:
    policy = {"required_approvals": 2, "role": "approver"}
    return factories.job(State.AWAITING_APPROVAL, command="delete", policy=policy, digest="a" * 64)


def test_a_quorum_that_only_the_database_misses(waiting: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    anna = factories.appointed("anna", Role.APPROVER)
    monkeypatch.setattr(decisions, "required", lambda _job: 1)
    with pytest.raises(Problem) as refused:
        decisions.approve(Actor.acting_for(anna), waiting, "a" * 64)
    assert (refused.value.status, refused.value.code) == (409, "wrong_state")
    assert "doesn’t have all its approvals" in refused.value.detail
    assert Event.objects.filter(action="job.approve", outcome="refused").exists()
    assert not Decision.objects.exists()


def test_a_trigger_s_rule_is_known_by_its_name(waiting: Job) -> None:
    with pytest.raises(IntegrityError) as error, transaction.atomic():
        Decision.objects.create(job=waiting, person=factories.PersonFactory(), decision="approve", digest="b" * 64)
    assert (broken(error.value), "decision_stale" in str(error.value)) == ("decision_stale", False)
