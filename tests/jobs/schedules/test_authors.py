"""Nobody who shaped a definition, and nobody whom one of its authors appointed, approves it or one of its runs."""

from __future__ import annotations

import pytest
from django.db import transaction

from console.accounts import services
from console.accounts.authority import EVERYTHING
from console.accounts.models import Person
from console.accounts.roles import Role
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.domain.states import State
from jobs.lifecycle.cancelling import require_person
from jobs.models import Decision, PolicyRule, Schedule, ScheduleDecision
from jobs.policy import evaluate
from jobs.schedules import acts, approvals
from tests import factories
from tests.clients import Caller, caller
from tests.jobs.schedules.conftest import fresh, job_of, look, make_due, previewed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chief() -> Person:
    """An operator who is an admin as well."""
    return factories.person_named("chief", "operator", "admin")


@pytest.fixture
def friend(chief) -> Actor:
    """An approver whom the chief has appointed."""
    person = factories.person_named("friend")
    services.grant(Actor.acting_for(chief), person, Role.APPROVER, EVERYTHING)
    return Actor.acting_for(Person.objects.get(pk=person.pk))


@pytest.fixture
def taken_over(chief, wanted, actor, reviewed) -> Schedule:
    """The chief's definition, which olga has given another name: it runs for her."""
    schedule = acts.create(Actor.acting_for(chief), "nightly", "many small files", wanted).schedule
    return acts.change(actor, schedule, acts.wanted_of(schedule), name="nights")


def test_whom_an_earlier_author_appointed_does_not_approve_it(taken_over, friend):
    with pytest.raises(Problem) as refused:
        approvals.approve(friend, taken_over, taken_over.digest)
    assert refused.value.code == "not_independent"
    assert "chief gave friend the role approver" in refused.value.detail
    said = {"schedule": taken_over, "person": friend.person, "decision": "approve", "digest": taken_over.digest}
    with transaction.atomic():
        ScheduleDecision.objects.create(**said)
    assert approvals.approvals(fresh(taken_over)) == 0  # nor does the database count it


def test_who_is_independent_of_all_authors_does(taken_over, anna):
    approvals.approve(anna, taken_over, taken_over.digest)
    assert fresh(taken_over).state == Schedule.State.ACTIVE


@pytest.fixture
def waiting(taken_over, anna):
    """A run that waits for a second approval, which a rule asks for since."""
    approvals.approve(anna, taken_over, taken_over.digest)
    make_due(taken_over)
    look()
    factories.PolicyRuleFactory(name="two of them", command="optimize", required_approvals=2)
    assert previewed().state == State.AWAITING_APPROVAL
    return job_of(taken_over)


@pytest.mark.parametrize("who", ["author", "appointed"])
def test_nor_do_they_approve_one_of_its_runs(waiting, chief, friend, who):
    services.grant(Actor.system("tests"), chief, Role.APPROVER, EVERYTHING)
    actor = friend if who == "appointed" else Actor.acting_for(Person.objects.get(pk=chief.pk))
    with pytest.raises(Problem) as refused:
        decisions.approve(actor, waiting, waiting.digest)
    assert refused.value.code == {"author": "not_your_own", "appointed": "not_independent"}[who]
    person = require_person(actor)
    Decision.objects.create(job=waiting, person=person, decision="approve", digest=waiting.digest)
    assert evaluate.approvals(waiting) == 1  # that of the definition


def test_a_rule_that_one_of_its_authors_lowered_holds_for_it_as_it_was(chief, wanted, actor, reviewed):
    rule = PolicyRule.objects.get(name="optimizing")
    change = Caller(chief).patch(f"/policies/{rule.pk}", {"enabled": False}).json()["waiting_change"]["id"]
    assert caller("admin").post(f"/policies/{rule.pk}/confirm", {"change": change}).status_code == 200
    schedule = acts.create(Actor.acting_for(chief), "nightly", "many small files", wanted).schedule
    assert schedule.state == Schedule.State.AWAITING_APPROVAL
    changed = acts.change(actor, schedule, acts.wanted_of(schedule), name="nights")
    assert (changed.state, approvals.required(changed)) == (Schedule.State.AWAITING_APPROVAL, 1)
    assert acts.create(actor, "mine", "many small files", wanted).schedule.state == Schedule.State.ACTIVE
