"""Commits that nobody approved are seen, whoever made them, until a person has looked; forged stamps are found out."""

import json
import shutil
import uuid
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable
from django.test import Client
from django.utils import timezone

from console.accounts.roles import Role
from console.audit.actions import Action
from console.audit.actor import Actor
from console.audit.models import Event
from jobs.dispatcher.attribution import explain_commits
from jobs.evidence.consistency import differences
from jobs.models import Decision, Job
from tables.catalog.adding import additions
from tables.models import Commit, Explanation
from tables.sync import table as syncing
from tests import factories
from tests.clients import caller
from tests.factories import lakes

pytestmark = pytest.mark.django_db


@pytest.fixture
def lake(tmp_path):
    return factories.RootFactory(uri=str(tmp_path))


@pytest.fixture
def orders(lake):
    lakes.delta(f"{lake.uri}/orders", {"id": [1, 2, 3], "country": ["DE", "FR", "DE"]})
    olga = factories.person_with(Role.OPERATOR)
    return additions.add_table(Actor.acting_for(olga), f"{lake.uri}/orders").table


def synced(table):
    """The table after a sync and the round that judges."""
    found = syncing.sync(table.pk)
    explain_commits()
    return found


def outside(table):
    return DeltaTable(table.path)


def verdicts(table):
    return {e.version: (e.verdict, e.effects) for e in Explanation.objects.filter(table=table)}


OUTSIDE = {
    "delete": lambda table: outside(table).delete("id = 1"),
    "update": lambda table: outside(table).update(updates={"country": "'IT'"}, predicate="id = 1"),
    "merge": lambda table: (
        outside(table)
        .merge(pa.table({"id": [1], "country": ["IT"]}), "s.id = t.id", source_alias="s", target_alias="t")
        .when_matched_update_all()
        .execute()
    ),
    "restore": lambda table: outside(table).restore(0),
    "overwrite": lambda table: lakes.delta(table.path, {"id": [9], "country": ["x"]}, mode="overwrite"),
    "dropped_columns": lambda table: lakes.delta(table.path, {"id": [9]}, mode="overwrite", schema_mode="overwrite"),
    "shortened_retention": lambda table: outside(table).alter.set_table_properties(
        {"delta.deletedFileRetentionDuration": "interval 1 hour"}
    ),
    "vacuum": lambda table: outside(table).vacuum(0, dry_run=False, enforce_retention_duration=False),
}


@pytest.mark.parametrize("effect", OUTSIDE)
def test_a_change_made_outside_is_nobodys(orders, effect):
    if effect in ("restore", "vacuum"):
        lakes.delta(orders.path, {"id": [4], "country": ["DE"]}, mode="append")
        outside(orders).optimize.compact()
        synced(orders)
    OUTSIDE[effect](orders)
    synced(orders)
    found = [value for value in verdicts(orders).values() if effect in value[1]]
    assert [verdict for verdict, _ in found] == ["nobody"]
    event = Event.objects.get(action=Action.COMMIT_UNEXPLAINED)
    assert event.table_id == orders.pk
    assert "delta-rs" in event.reason


def test_an_append_made_outside_asks_nothing(orders):
    lakes.delta(orders.path, {"id": [4], "country": ["DE"]}, mode="append")
    outside(orders).optimize.compact()
    outside(orders).alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 30 days"})
    synced(orders)
    assert verdicts(orders) == {}


def test_what_happened_before_levee_knew_the_table_asks_nothing(lake):
    lakes.delta(f"{lake.uri}/old", {"id": [1, 2]})
    DeltaTable(f"{lake.uri}/old").delete("id = 1")
    olga = factories.person_with(Role.OPERATOR)
    table = additions.add_table(Actor.acting_for(olga), f"{lake.uri}/old").table
    synced(table)
    assert verdicts(table) == {}


def delete_of(table, **changes):
    """A delete that has committed version 1."""
    values = {"version": 1, "digest": "d" * 64, "policy": {"required_approvals": 1, "role": "approver"}, **changes}
    return factories.job("succeeded", table=table, command="delete", claimed_at=timezone.now(), **values)


def commit_as(table, job_id, digest="d" * 64):
    """A delete whose commit carries that mark."""
    mark = json.dumps({"job": str(job_id), "attempt": 1, "digest": digest})
    outside(table).delete("id = 1", commit_properties=CommitProperties(custom_metadata={"userMetadata": mark}))


def with_approval(table):
    """A job that somebody has approved, running."""
    job = factories.job(
        "awaiting_approval", table=table, command="delete", policy={"required_approvals": 1, "role": "approver"}
    )
    approver = factories.person_with(Role.APPROVER)
    Decision.objects.create(job=job, person=approver, decision="approve", digest=job.digest or "")
    values = {"state": "queued", "queued_at": timezone.now()}
    Job.objects.filter(pk=job.pk).update(**values)
    claim = {"attempt": 1, "token": 1, "lease_until": timezone.now() + timedelta(hours=1), "claimed_at": timezone.now()}
    Job.objects.filter(pk=job.pk).update(state="running", **claim)
    return job


def ended(job, version=1):
    result = {"version": version, "operation": "DELETE"}
    Job.objects.filter(pk=job.pk).update(
        state="succeeded", version=version, result=result, finished_at=timezone.now(), lease_until=None
    )


def test_a_commit_of_an_approved_job_is_explained(orders):
    job = with_approval(orders)
    commit_as(orders, job.pk)
    synced(orders)
    assert verdicts(orders) == {1: ("waiting", ["delete"])}
    ended(job)
    explain_commits()
    assert verdicts(orders) == {1: ("approved", ["delete"])}
    assert not Event.objects.filter(action=Action.COMMIT_UNEXPLAINED).exists()


def test_a_commit_of_a_job_that_needed_no_approval_is_explained(orders):
    job = delete_of(orders, policy={"required_approvals": 0})
    commit_as(orders, job.pk)
    synced(orders)
    assert verdicts(orders) == {1: ("needed_none", ["delete"])}


def test_a_commit_of_a_job_without_its_approvals_is_found(orders):
    commit_as(orders, delete_of(orders).pk)
    synced(orders)
    assert verdicts(orders) == {1: ("unapproved", ["delete"])}


def several(table, *versions, state="succeeded", **changes):
    """A job whose run has made several commits, and whose result lists them."""
    result = {"version": versions[-1], "details": {"commits": [{"version": version} for version in versions]}}
    values = {"result": result, "version": versions[-1], "base_version": 0, "digest": "d" * 64, **changes}
    policy = {"required_approvals": 0}
    return factories.job(
        state, table=table, command="set_properties", policy=policy, claimed_at=timezone.now(), **values
    )


LATE = {"state": "stale", "result": None}  # a run that was found after its end has no result


@pytest.mark.parametrize("changes", [{}, LATE], ids=["in_time", "late"])
def test_each_of_several_commits_of_a_job_is_explained(orders, changes):
    job = several(orders, 1, 2, **changes)
    commit_as(orders, job.pk)
    synced(orders)
    assert verdicts(orders) == {1: ("needed_none", ["delete"])}
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() + timedelta(hours=-1))
    assert "strange_stamp" not in kinds()


@pytest.mark.parametrize("versions", [(5, 6), (0,)])
def test_a_mark_that_was_copied_from_one_of_several_commits_is_forged(orders, versions):
    job = several(orders, *versions)
    commit_as(orders, job.pk)
    synced(orders)
    assert verdicts(orders) == {1: ("forged", ["delete"])}
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() - timedelta(hours=2))
    assert "strange_stamp" in kinds()


FORGED = {
    "no job": lambda table: commit_as(table, uuid.uuid4()),
    "another table": lambda table: commit_as(table, delete_of(factories.TableFactory()).pk),
    "another digest": lambda table: commit_as(table, delete_of(table).pk, "e" * 64),
    "another version": lambda table: commit_as(table, delete_of(table, version=7).pk),
    "a job that never ran": lambda table: commit_as(table, factories.job("queued", table=table).pk),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_stamp_is_found_out(orders, how):
    FORGED[how](orders)
    synced(orders)
    assert verdicts(orders) == {1: ("forged", ["delete"])}
    event = Event.objects.get(action=Action.COMMIT_UNEXPLAINED)
    assert event.outcome == "failed"


def test_a_forged_stamp_on_an_append_is_found_out_as_well(orders):
    mark = json.dumps({"job": str(uuid.uuid4()), "attempt": 1, "digest": "d" * 64})
    properties = CommitProperties(custom_metadata={"userMetadata": mark})
    lakes.delta(orders.path, {"id": [4], "country": ["x"]}, mode="append", commit_properties=properties)
    synced(orders)
    assert verdicts(orders) == {1: ("forged", [])}


def test_a_commit_is_judged_and_said_once(orders):
    OUTSIDE["delete"](orders)
    synced(orders)
    synced(orders)
    assert Event.objects.filter(action=Action.COMMIT_UNEXPLAINED).count() == 1


@pytest.fixture
def unexplained(orders):
    OUTSIDE["delete"](orders)
    return synced(orders)


def test_it_leaves_home_when_a_person_acknowledges_it_with_a_reason(unexplained):
    operator = caller("operator")
    address = f"/tables/{unexplained.pk}/commits/1"
    assert operator.get(address).json()["explanation"]["verdict"] == "nobody"
    answer = operator.post(f"{address}/acknowledge", {"reason": "the nightly job of finance"})
    assert answer.status_code == 200, answer.content
    assert answer.json()["acknowledged_by"] == operator.person.name
    event = Event.objects.get(action=Action.COMMIT_ACKNOWLEDGE)
    assert (event.reason, event.table_version, event.actor_id) == ("the nightly job of finance", 1, operator.person.pk)
    assert operator.post(f"{address}/acknowledge", {"reason": "again"}).status_code == 409
    assert not Explanation.objects.get().is_open


@pytest.mark.parametrize(("body", "status"), [({"reason": "  "}, 400), ({}, 400), ({"reason": "x" * 2001}, 400)])
def test_an_acknowledgement_needs_a_reason(unexplained, body, status):
    address = f"/tables/{unexplained.pk}/commits/1/acknowledge"
    assert caller("operator").post(address, body).status_code == status


def test_a_viewer_acknowledges_nothing_and_other_commits_need_none(unexplained):
    address = f"/tables/{unexplained.pk}/commits"
    assert caller("viewer").post(f"{address}/1/acknowledge", {"reason": "x"}).status_code == 403
    assert caller("operator").post(f"{address}/0/acknowledge", {"reason": "x"}).status_code == 404


def kinds():
    return sorted(finding.kind for finding in differences())


def test_jobs_and_tables_that_do_not_agree_are_found(orders):
    assert kinds() == []
    job = delete_of(orders, version=5)
    commit_as(orders, uuid.uuid4())
    syncing.sync(orders.pk)
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() - timedelta(hours=1))
    assert kinds() == [
        "approval_missing",
        "commit_missing",
        "event_missing",
        "event_missing",
        "event_missing",
        "strange_stamp",
    ]
    assert Commit.objects.get(version=1).job is not None


def test_an_approval_without_its_event_is_found(orders):
    with_approval(orders)
    assert kinds() == ["event_missing"]


@pytest.fixture
def recreated(unexplained):
    """A table of which nobody approved version 1, nor version 1 of the one that lay there before."""
    shutil.rmtree(unexplained.path)
    lakes.delta(unexplained.path, {"id": [1, 2], "note": ["x", "y"]})
    synced(unexplained)
    outside(unexplained).delete("id = 1")
    table = synced(unexplained)
    assert verdicts_by_lay() == {(0, 1): True, (1, 1): True}
    return table


def verdicts_by_lay():
    return {(e.incarnation, e.version): e.is_open for e in Explanation.objects.all()}


def browsing(person):
    client = Client()
    client.force_login(person)
    return client


def test_home_leads_to_the_commits_of_the_tables_that_made_them(recreated):
    olga = factories.person_with(Role.OPERATOR)
    html = browsing(olga).get("/").content.decode()
    for address in (f"/tables/{recreated.pk}/commits/1/", f"/tables/{recreated.pk}/commits/1/?incarnation=0"):
        assert html.count(f'href="{address}"') >= 2  # among what nobody approved, and among what was destroyed lately


def test_an_earlier_tables_commit_is_acknowledged_where_it_stands(recreated):
    client = browsing(factories.person_with(Role.OPERATOR))
    address = f"/tables/{recreated.pk}/commits/1/"
    html = client.get(f"{address}?incarnation=0").content.decode()
    assert '<input type="hidden" name="incarnation" value="0">' in html
    assert "side by side" not in html
    answer = client.post(f"{address}acknowledge/", {"reason": "known", "incarnation": "0"})
    assert answer["Location"] == f"{address}?incarnation=0"
    assert verdicts_by_lay() == {(0, 1): False, (1, 1): True}
    event = Event.objects.get(action=Action.COMMIT_ACKNOWLEDGE)
    assert event.before is not None
    assert event.before["incarnation"] == 0
    assert '?operation=unexplained"' in client.get(f"/tables/{recreated.pk}/").content.decode()
    client.post(f"{address}acknowledge/", {"reason": "known too"})
    assert verdicts_by_lay() == {(0, 1): False, (1, 1): False}
    assert client.post(f"{address}acknowledge/", {"reason": "x", "incarnation": "7"}).status_code == 404


def test_what_is_open_of_an_earlier_table_can_be_reached(recreated):
    client = browsing(factories.person_with(Role.OPERATOR))
    client.post(f"/tables/{recreated.pk}/commits/1/acknowledge/", {"reason": "known"})
    html = client.get(f"/tables/{recreated.pk}/").content.decode()
    assert "?operation=unexplained&amp;incarnation=0" in html
    found = client.get(f"/tables/{recreated.pk}/history/?operation=unexplained&incarnation=0").content.decode()
    assert "/commits/1/?incarnation=0" in found
    assert '<input type="hidden" name="incarnation" value="0">' in found


def test_the_api_tells_the_tables_of_one_place_apart(recreated):
    operator, address = caller("operator"), f"/tables/{recreated.pk}"
    rows = operator.get(f"{address}/history?incarnation=0").json()["results"]
    assert [
        (row["incarnation"], row["version"], row["explanation"] and row["explanation"]["verdict"]) for row in rows
    ] == [
        (0, 1, "nobody"),
        (0, 0, None),
    ]
    assert {row["incarnation"] for row in operator.get(f"{address}/history").json()["results"]} == {1}
    made = operator.get(f"{address}/commits/0?incarnation=0").json()["schema_changes"]
    assert [change["column"] for change in made] == ["id", "country"]
    same = operator.get(f"{address}/schema/compare?from=0&to=1&incarnation=0").json()
    assert same["changes"] == []
    assert operator.get(f"{address}/compare?from=0&to=1&incarnation=0").json()["commits"]["rows_changed"] == -1
    answer = operator.post(f"{address}/commits/1/acknowledge", {"reason": "known", "incarnation": 0})
    assert answer.status_code == 200
    assert verdicts_by_lay() == {(0, 1): False, (1, 1): True}
    for unknown in ("history?incarnation=9", "commits/1?incarnation=9"):
        assert operator.get(f"{address}/{unknown}").status_code == 404
    assert operator.get(f"{address}/history?incarnation=x").status_code == 400
