"""Who approves a clone: it takes rows of one table and makes another, so only an approver of both does."""

import threading
from typing import Any

import pytest

from console.accounts.models import Person
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands.clone.rules import Clone
from jobs.domain.states import State
from jobs.models import Decision, Job
from jobs.policy.evaluate import approvals
from jobs.policy.needs import needs_of
from jobs.requests.asking import request
from jobs.web.approvals import queries
from jobs.web.approvals.review_queries import standing
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Root, Table
from tests import factories
from tests.factories import lakes
from tests.jobs.commands.clone.test_flow import Cloning

pytestmark = pytest.mark.django_db(transaction=True)
TOO = "Approving it takes the role approver on sales too, whose rows it reads."


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.02, heartbeat=0.05, lease=5, record_retry=5)


@pytest.fixture
def sales(lake) -> Table:
    return lakes.sales_in(lake)


@pytest.fixture
def there(tmp_path) -> Root:
    """Another root."""
    (tmp_path / "there").mkdir()
    return factories.RootFactory(uri=str(tmp_path / "there"), name="there")


@pytest.fixture(params=["everything", "there", "source"])
def rule(request, there, sales) -> None:
    scope: dict[str, Any] = {
        "everything": {}, "there": {"scope": "root", "root": there}, "source": {"scope": "table", "table": sales},
    }[request.param]  # fmt: skip
    factories.PolicyRuleFactory(command="clone", required_approvals=1, **scope)


@pytest.fixture
def waiting(olga, sales, there, rule) -> Job:
    """A clone of sales in the other root that waits for an approval."""
    command = Clone(str(sales.pk), f"{there.uri}/copy", "shallow")
    request(Actor.acting_for(olga), command, "to try something")
    claim = claim_preview(factories.holder())
    assert claim is not None
    engine = Cloning()
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return now(claim.job)


def now(job: Job) -> Job:
    return Job.objects.select_related("table", "requested_by").get(pk=job.pk)


def approver(*roots: Root) -> Person:
    person = factories.PersonFactory()
    for root in roots:
        factories.GrantFactory(person=person, role="approver", scope="root", root=root)
    return Person.objects.get(pk=person.pk)


def approve(person: Person, job: Job) -> None:
    decisions.approve(Actor.acting_for(person), job, str(job.digest))


def test_one_approver_of_both_is_enough(waiting, sales, there):
    assert (waiting.state, waiting.policy["required_approvals"]) == (State.AWAITING_APPROVAL, 1)
    approve(approver(sales.root, there), waiting)
    assert now(waiting).state == State.QUEUED
    assert claim_run(factories.holder()) is not None


def test_one_of_the_clone_s_place_alone_can_only_reject(waiting, there):
    person = approver(there)
    with pytest.raises(Problem, match=TOO) as refused:
        approve(person, waiting)
    assert (refused.value.status, refused.value.code) == (403, "forbidden")
    assert (now(waiting).state, Decision.objects.count()) == (State.AWAITING_APPROVAL, 0)
    rights = standing(person, waiting, [], edited=False)
    assert (rights.may_approve, rights.may_reject, rights.why) == (False, True, f"{TOO} A rejection still ends it.")
    decisions.reject(Actor.acting_for(person), waiting, str(waiting.digest))
    assert now(waiting).state == State.REJECTED


def test_one_of_the_source_alone_decides_nothing(waiting, sales):
    person = approver(sales.root)
    for act in (decisions.approve, decisions.reject):
        with pytest.raises(Problem) as refused:
            act(Actor.acting_for(person), waiting, str(waiting.digest))
        assert refused.value.code == "forbidden"


@pytest.mark.parametrize("lost", ["source", "there"])
def test_an_approval_ends_with_either_role(waiting, sales, there, lost):
    person = approver(sales.root, there)
    approve(person, waiting)
    person.grants.filter(root=sales.root if lost == "source" else there).delete()
    assert approvals(now(waiting)) == 0
    assert claim_run(factories.holder()) is None
    if lost == "source":  # the dispatcher sends the other one back
        assert now(waiting).state == State.AWAITING_APPROVAL
        approve(approver(sales.root, there), now(waiting))
        assert claim_run(factories.holder()) is not None


def test_it_waits_for_those_alone_who_can_approve_it_and_tells_the_others_why(waiting, sales, there):
    of_place, of_both, of_all = approver(there), approver(sales.root, there), factories.person_with("approver")
    assert [list(queries.waiting_for(each)) for each in (of_place, of_both, of_all)] == [[], [waiting], [waiting]]
    [card] = queries.page_of(of_place, "waiting")["others"]
    assert card["why"] == f"{TOO} You can still reject it."


def test_who_could_approve_it_is_said_before(waiting, olga, sales, there):
    approver(there)
    needs = needs_of(olga, "clone", waiting.table, waiting.preview or {})
    assert needs.candidates is not None
    assert needs.candidates.text == (
        "Nobody can approve it yet: no other person has the role approver here and on sales. An admin gives it under People."
    )
    both = approver(sales.root, there)
    again = needs_of(olga, "clone", waiting.table, waiting.preview or {})
    assert again.candidates is not None
    assert again.candidates.text == f"It can be approved by {both.name}."
