"""Rules that protect a table or root: nothing changes it, whoever asks and however it was approved; and nobody lifts one alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from console.accounts.authority import GrantScope
from console.accounts.models import Person
from console.audit.actor import Actor
from console.audit.models import Event
from console.base.errors import Problem
from jobs.approvals import decisions
from jobs.commands.clone.rules import Clone
from jobs.commands.convert.rules import Convert
from jobs.commands.delete.rules import Delete
from jobs.commands.optimize.rules import Optimize
from jobs.commands.vacuum.rules import Vacuum
from jobs.dispatcher import protected_jobs
from jobs.domain.policy import ANY
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Job, PolicyChange, PolicyRule, TableLease
from jobs.policy import protection, services
from jobs.policy.holding_back import HeldBack, held_back
from jobs.policy.services import Terms
from jobs.requests.asking import request
from jobs.web.catalog_port import KnownJobs
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tables.models import Root, Table
from tables.web.table import acts, page_header
from tests import factories
from tests.clients import SURE, Caller, caller
from tests.clients import confirmed_browser as browser
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = Actor.system("tests")
NEW = {"name": "Ledger", "command": "any", "forbids": True}


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.02, heartbeat=0.05, lease=5, record_retry=5)


@pytest.fixture
def sales(lake: Root) -> Table:
    return known(lakes.sales_in(lake))


def known(table: Table) -> Table:
    """The table as a sync leaves it."""
    table.version = 1
    table.save(update_fields=["version"])
    return table


def protect(on: Table | Root | None, command: str = "any") -> PolicyRule:
    scope = (
        GrantScope()
        if on is None
        else GrantScope(root_id=on.pk)
        if isinstance(on, Root)
        else GrantScope(table_id=on.pk)
    )
    return services.add(SYSTEM, command, scope, Terms("Ledger", 0), forbids=True)


def lift(rule: PolicyRule) -> None:
    services.change(SYSTEM, rule, enabled=False)


def code(person: Person, command: object) -> str:
    try:
        request(Actor.acting_for(person), command, "to try")  # type: ignore[arg-type]
    except Problem as problem:
        return problem.code
    return ""


def over(table: Table, kind: str, person: Person) -> str | None:
    found = protection.over(kind, table.path, person.pk)
    return None if found is None else found.name


# --- what is refused ---------------------------------------------------------------------------------------------------


def test_nothing_that_changes_a_protected_table_can_be_requested(olga, sales):
    rule = protect(sales)
    for command in (
        Delete(str(sales.pk), "id = 1"), Vacuum(str(sales.pk)), Optimize(str(sales.pk)),
    ):  # fmt: skip
        with pytest.raises(Problem) as refused:
            request(Actor.acting_for(olga), command, "to try")
        assert (refused.value.status, refused.value.code) == (409, "protected")
        assert refused.value.extra == {"rule": str(rule.pk)}
        assert "Levee changes nothing here: the rule “Ledger” protects it." in refused.value.detail
    assert not Job.objects.exists()
    refused_there = Event.objects.filter(action="job.request", outcome="refused", object_id=str(sales.pk))
    assert refused_there.filter(object_kind="table", reason__startswith="protected").count() == 3


def test_one_command_alone_can_be_forbidden(olga, sales):
    protect(sales, "vacuum")
    assert code(olga, Vacuum(str(sales.pk))) == "protected"
    assert code(olga, Optimize(str(sales.pk))) == ""


def test_a_protected_root_protects_what_is_in_it_and_in_roots_inside(olga, lake, sales, tmp_path):
    inner = factories.RootFactory(name="inner", uri=f"{lake.uri}/inner")
    within = factories.TableFactory(root=inner, path=f"{inner.uri}/t")
    beside = factories.RootFactory(name="beside", uri=f"{lake.uri}-2")
    other = factories.TableFactory(root=beside, path=f"{beside.uri}/t")
    protect(lake)
    assert [over(each, "delete", olga) for each in (sales, within, other)] == ["Ledger", "Ledger", None]


def test_a_rule_on_everything_stops_one_command_everywhere(olga, sales):
    protect(None, "drop_feature")
    assert over(sales, "drop_feature", olga) == "Ledger"
    assert over(sales, "delete", olga) is None


def test_a_convert_in_a_protected_root_leaves_nothing_in_the_catalog(olga, lake):
    lakes.parquet(Path(lake.uri, "plain", "a.parquet"), {"id": [1]})
    protect(lake)
    assert code(olga, Convert(f"{lake.uri}/plain", None, "parquet", None)) == "protected"
    assert not Table.objects.exists()


def test_a_clone_of_a_protected_table_is_no_change_of_it(olga, lake, sales, tmp_path):
    copy = Clone(str(sales.pk), f"{lake.uri}/copy", "shallow")
    protect(sales)
    assert code(olga, copy) == ""
    protect(sales, "clone")
    assert code(olga, Clone(str(sales.pk), f"{lake.uri}/copy2", "shallow")) == "protected"


def test_a_clone_into_a_protected_root_is_refused_and_makes_no_directory(olga, lake, sales):
    protect(lake, "clone")
    assert code(olga, Clone(str(sales.pk), f"{lake.uri}/copy", "shallow")) == "protected"
    assert not Path(lake.uri, "copy").exists()


# --- what waits --------------------------------------------------------------------------------------------------------


def waiting(olga: Person, sales: Table) -> Job:
    request(Actor.acting_for(olga), Delete(str(sales.pk), "id = 1"), "to try")
    claim = claim_preview(factories.holder())
    assert claim is not None
    engine = SmallEngine()
    work(Execution(claim, engine, threading.Event(), engine.end_hard))
    return Job.objects.get(pk=claim.job.pk)


def test_a_request_that_waits_is_not_approved_any_more_and_is_cancelled(olga, sales):
    job = waiting(olga, sales)
    assert job.state == State.AWAITING_APPROVAL
    anna = factories.person_with("approver")
    protect(sales)
    with pytest.raises(Problem) as refused:
        decisions.approve(Actor.acting_for(anna), job, job.digest or "")
    assert (refused.value.code, "Nothing was approved." in refused.value.detail) == ("protected", True)
    assert protected_jobs.cancel() == 1
    job.refresh_from_db()
    assert job.state == State.CANCELLED
    event = job.events.order_by("-id").first()
    assert event is not None
    assert event.text == "Cancelled: Levee changes nothing here: the rule “Ledger” protects it."
    assert protected_jobs.cancel() == 0


def test_a_queued_job_does_not_begin(olga, sales):
    job = factories.job_on(sales, olga)
    rule = protect(sales)
    assert claim_run(factories.holder()) is None
    assert not TableLease.objects.exists()
    lift(rule)
    claim = claim_run(factories.holder())
    assert claim is not None
    assert claim.job == job


def test_the_database_lets_none_begin(olga, sales):
    job = factories.job_on(sales, olga)
    protect(sales)
    with pytest.raises(IntegrityError, match="a rule protects"), transaction.atomic():
        Job.objects.filter(pk=job.pk).update(state=State.RUNNING)


def test_a_job_that_has_begun_comes_to_its_end(olga, sales):
    factories.job_on(sales, olga)
    claim = claim_run(factories.holder())
    assert claim is not None
    protect(sales)
    assert protected_jobs.cancel() == 0
    error = {"code": "failed", "message": "It failed."}
    move(claim.job, State.FAILED, Cause.WORKER, "spark@here", token=claim.token, error=error)


# --- lifting it --------------------------------------------------------------------------------------------------------


def test_two_independent_admins_lift_it(sales):
    admin, other = caller("admin"), caller("admin")
    made = admin.post("/policies", {**NEW, "on": f"table:{sales.path}"})
    assert (made.status_code, made.json()["forbids"], made.json()["required_approvals"]) == (201, True, 0)
    at = f"/policies/{made.json()['id']}"
    waits = admin.patch(at, {"enabled": False})
    assert (waits.status_code, waits.json()["enabled"]) == (202, True)
    change = {"change": waits.json()["waiting_change"]["id"]}
    assert admin.post(f"{at}/confirm", change).json()["code"] == "not_your_own"
    assert other.post(f"{at}/confirm", change).json()["enabled"] is False


def test_whoever_lifted_it_is_held_for_a_week(olga, sales):
    protect(sales)
    rule = PolicyRule.objects.get(forbids=True)
    admins = [factories.person_with("admin"), factories.person_with("admin")]
    services.change(Actor.acting_for(admins[0]), rule, enabled=False)
    services.confirm(Actor.acting_for(admins[1]), rule, PolicyChange.objects.get().pk)
    assert [over(sales, "delete", each) for each in (*admins, olga)] == ["Ledger", "Ledger", None]


def test_the_database_lets_nobody_lift_it_alone(sales):
    rule = protect(sales)
    for values in ({"enabled": False}, {"removed_at": timezone.now()}, {"enabled": False, "version": 2}):
        with pytest.raises(IntegrityError, match="lift"), transaction.atomic():
            PolicyRule.objects.filter(pk=rule.pk).update(**values)
    with pytest.raises(ProgrammingError, match="stays one"), transaction.atomic():
        PolicyRule.objects.filter(pk=rule.pk).update(forbids=False)


def test_a_removal_waits_as_well_and_its_name_can_change(sales):
    admin = caller("admin")
    rule = protect(sales)
    assert admin.patch(f"/policies/{rule.pk}", {"name": "The ledger"}).json()["name"] == "The ledger"
    assert admin.delete(f"/policies/{rule.pk}").status_code == 202


@pytest.mark.parametrize(
    "terms",
    [{"required_approvals": 1}, {"class": "whole_table"}, {"min_share": 0.5}, {"refuses_tokens": True}, {"command": "drop"}],
)  # fmt: skip
def test_it_has_no_terms_about_approvals(terms):
    answer = caller("admin").post("/policies", NEW | terms)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, list(terms))


def test_any_is_no_command_of_a_rule_about_approvals():
    admin = caller("admin")
    assert admin.post("/policies", {"name": "x", "command": "any", "required_approvals": 1}).status_code == 400
    assert admin.post("/policies", {"name": "x", "command": "delete"}).json()["fields"] == {
        "required_approvals": "This field is required."
    }
    rule = PolicyRule.objects.get(command="convert", enabled=True)
    with pytest.raises(ProgrammingError, match="stays one"), transaction.atomic():
        PolicyRule.objects.filter(pk=rule.pk).update(forbids=True)


def test_only_an_admin_there_protects_it(olga, sales):
    assert Caller(olga).post("/policies", NEW).status_code == 403
    there = caller("admin", root=sales.root)
    assert there.post("/policies", {**NEW, "on": f"table:{sales.path}"}).status_code == 201
    assert there.post("/policies", NEW).status_code == 403


# --- pages -------------------------------------------------------------------------------------------------------------


def test_a_table_s_page_says_so_and_offers_only_what_is_left(olga, sales):
    protect(sales, "vacuum")
    page = browser(olga).get(f"/tables/{sales.pk}/").content.decode()
    assert "Levee runs no vacuum job here: the rule “Ledger” protects it." in page
    assert f"/tables/{sales.pk}/vacuum/" not in page
    assert f"/tables/{sales.pk}/delete/" in page
    protect(sales)
    left = acts.acts_on(olga, sales, "", page_header.protections_of(olga, sales))
    assert set(left) == {"clone", "describe"}
    assert [each.kind for each in KnownJobs().protected(olga, [sales.path])[sales.path]] == [None, "vacuum"]


@pytest.mark.parametrize(
    "act", ["delete", "optimize", "vacuum", "properties", "restore", "schema/change", "reorg", "drop-feature", "repair"]
)
def test_a_form_says_so_before_anything_is_typed(act, olga, sales):
    address = f"/tables/{sales.pk}/{act}/"
    small_delta.compact(Path(sales.path))  # another version, to restore the first
    protect(sales)
    answer = browser(olga).get(f"{address}?version=0" if act == "restore" else address)
    assert "the rule “Ledger” protects it" in answer.content.decode()


def test_what_a_rule_would_hold_back_is_counted_by_place_as_it_holds(sales):
    """Roots inside the place and schedules by tag as well; streams only where it forbids their rounds."""
    inner = factories.RootFactory(uri=f"{sales.root.uri}/inner", name="inner")
    table = factories.TableFactory(root=inner, path=f"{inner.uri}/t", name="t")
    beside = factories.TableFactory(root=factories.RootFactory(uri=f"{sales.root.uri}-beside", name="beside"))
    olga = factories.person_with("operator")
    for each in (sales, table, beside):
        factories.job_on(each, olga, state=State.AWAITING_APPROVAL)
    factories.schedule(table, olga)
    factories.schedule(None, olga, tag="gold")
    factories.stream(table, olga, state="running", run_by=olga)
    everything, root = GrantScope(), GrantScope(root_id=sales.root_id)
    assert held_back(everything, ANY) == HeldBack(3, 2, 1)
    assert held_back(root, ANY) == HeldBack(2, 1, 1)
    assert held_back(GrantScope(table_id=sales.pk), ANY) == HeldBack(1, 0, 0)
    assert held_back(root, "optimize") == HeldBack(0, 1, 0)


def test_an_admin_protects_a_table_from_its_page(sales):
    admin = browser(factories.person_with("admin"))
    assert "/policies/protect/?on=table" in admin.get(f"/tables/{sales.pk}/").content.decode()
    form = admin.get(f"/policies/protect/?on=table:{sales.path}").content.decode()
    assert f"table:{sales.path}" in form
    odd = admin.post("/policies/protect/", {"name": "", "on": "nowhere", "command": "any"})
    assert odd.status_code == 400
    given = {"name": "Ledger", "on": f"table:{sales.path}", "command": "any"}
    factories.job_on(sales, factories.person_with("operator"), state=State.AWAITING_APPROVAL)
    asked = admin.post("/policies/protect/", given).content.decode()
    assert "1 request is cancelled" in asked
    assert "0 active schedules stop" in asked
    assert not PolicyRule.objects.filter(forbids=True)
    answer = admin.post("/policies/protect/", {**given, **SURE}, follow=True)
    assert f"protects table:{sales.path}" in answer.content.decode()
    rule = PolicyRule.objects.get(forbids=True)
    assert (rule.command, rule.table_id, rule.name) == ("any", sales.pk, "Ledger")
    page = admin.get(f"/policies/{rule.pk}/").content.decode()
    assert "Levee changes nothing here." in page
    assert "Approvals needed" not in page
    asked = admin.post(f"/policies/{rule.pk}/remove/").content.decode()
    assert "for 7 days not by the people who lift it" in asked
    admin.post(f"/policies/{rule.pk}/", {"name": "The ledger"})
    rule.refresh_from_db()
    assert rule.name == "The ledger"
