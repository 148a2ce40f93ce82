"""An optimize from its request to its result: what makes it stale and what doesn't."""

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from console.audit.actor import Actor
from jobs.commands.optimize.rules import Optimize
from jobs.domain.results import Result
from jobs.domain.states import State
from jobs.models import Job
from jobs.requests.asking import request
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.clients import browser
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)


class Compacting(SmallEngine):
    """Joins the files of a small table."""

    def run(self, command: Any, *rest: Any) -> Result:
        version = small_delta.compact(Path(command.path))
        return Result(version, "OPTIMIZE", {}, {"numRemovedFiles": "3", "numAddedFiles": "2"}, read_version=version - 1)


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(lake):
    table = lakes.sales_in(lake)
    small_delta.append(Path(table.path), [{"id": 50, "p": "FR"}])
    return table


def worked(claiming) -> Job:
    engine, claim = Compacting(), claiming(factories.holder())
    assert claim is not None, "there is nothing to claim"
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def asked(who, table, **more: Any) -> Job:
    request(Actor.acting_for(who), Optimize(str(table.pk), **more), "many small files")
    return worked(claim_preview)


def test_it_runs_without_approval_and_its_result_stands_beside_its_prediction(olga, sales):
    job = asked(olga, sales)
    assert (job.state, job.policy["required_approvals"]) == (State.QUEUED, 0)
    assert (job.preview or {})["files_in"] == 2
    done = worked(claim_run)
    assert (done.state, done.version) == (State.SUCCEEDED, 2)


def test_a_rule_of_the_team_makes_it_wait(olga, sales):
    factories.PolicyRuleFactory(name="optimizing", command="optimize")
    assert asked(olga, sales).state == State.AWAITING_APPROVAL


def test_where_nothing_can_be_joined_it_ends_at_once(olga, sales):
    job = asked(olga, sales, predicate="p = 'DE'")
    assert (job.state, job.no_op, job.version) == (State.SUCCEEDED, True, None)
    assert "nothing to join" in (job.result or {})["details"]["text"]


def test_newer_rows_do_not_make_it_stale(olga, sales):
    asked(olga, sales)
    small_delta.append(Path(sales.path), [{"id": 60, "p": "DE"}])
    done = worked(claim_run)
    assert (done.state, done.version) == (State.SUCCEEDED, 3)
    assert (done.drift or {})["verdict"] == "same_rows"


def test_another_schema_does(olga, sales):
    asked(olga, sales, predicate="p = 'FR'")
    wider = {"name": "more", "type": "string", "nullable": True, "metadata": {}}
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": [*small_delta.FIELDS, wider]})
    assert worked(claim_run).state == State.STALE
    assert small_delta.head(Path(sales.path)) == 2


def test_its_page_has_what_was_predicted_beside_what_was_done(olga, sales):
    done = asked(olga, sales)
    worked(claim_run)
    page = browser(olga).get(f"/jobs/{done.pk}/").content.decode()
    assert "Result beside the prediction" in page
    for label in ("Files removed", "Files added", "Bytes removed", "Bytes added", "Measured before the run"):
        assert label in page
    assert "View the review" not in page  # it had none


def test_a_page_says_nothing_of_ones_own_approval_where_none_is_needed(olga, sales):
    page = browser(olga).get(f"/tables/{sales.pk}/optimize/").content.decode()
    assert "Needs no approval" in page
    assert "approve your own" not in page
    factories.PolicyRuleFactory(name="optimizing", command="optimize")
    assert "approve your own" in browser(olga).get(f"/tables/{sales.pk}/optimize/").content.decode()


def test_what_would_join_nothing_cannot_be_requested(olga, sales):
    for query, disabled in (("", False), ("?predicate=p+%3D+%27DE%27", True), ("?predicate=nonsense+%3D+1", True)):
        page = browser(olga).get(f"/tables/{sales.pk}/optimize/{query}").content.decode()
        button = re.search(r'<button[^>]*id="request"[^>]*>', page)
        assert button is not None
        assert ("disabled" in button[0]) == disabled, query
