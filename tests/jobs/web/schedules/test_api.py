"""Schedules over HTTP."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.authority import GrantScope
from console.accounts.roles import Role
from console.audit.models import Event
from jobs.models import Schedule, ScheduleDecision, ScheduleRun
from jobs.schedules import times
from tables.models import Table
from tests import factories
from tests.clients import Caller, caller
from tests.jobs import small_delta

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_schedule_without_a_rule_is_active_with_its_next_runs(made, body, olga, sales):
    assert (made["name"], made["state"], made["policy"]["required_approvals"]) == ("nightly", "active", 0)
    assert made["command"] == {**body["command"], "zorder_by": None, "full": False}
    assert made["bounds"] == body["bounds"]
    assert (made["table"]["id"], made["run_by"]) == (str(sales.pk), olga.person.name)
    assert len(made["next_runs"]) == 5
    assert made["next_runs"][0] == made["next_run_at"].replace("+00:00", "Z")
    assert olga.get(f"/schedules/{made['id']}").json() == made
    assert olga.get("/schedules").json()["results"] == [made]
    assert olga.get(f"/schedules/{made['id']}/runs").json()["results"] == []
    assert Event.objects.filter(action="schedule.create", object_id=made["id"], reason="small files").count() == 1


def test_a_zone_that_is_gone_leaves_the_list_readable(made, olga, monkeypatch):
    monkeypatch.setattr(times, "known_zones", cache(lambda: frozenset({"UTC"})))
    [listed] = olga.get("/schedules").json()["results"]
    assert (listed["id"], listed["next_runs"]) == (made["id"], [])
    assert olga.get(f"/schedules/{made['id']}").status_code == 200


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"cron": "0 0 30 2 *"}, "cron"),
    ({"cron": "@daily"}, "cron"),
    ({"time_zone": "Europe/Atlantis"}, "time_zone"),
    ({"window_minutes": 30}, "window_minutes"),
    ({"window_minutes": 0}, "window_minutes"),
    ({"name": " "}, "name"),
    ({"reason": " "}, "reason"),
    ({"bounds": {"max_bytes": 0}}, "bounds"),
    ({"bounds": {"max_rows": 1}}, "bounds"),
    ({"when": "now"}, "when"),
    ({"command": {"command": "truncate"}}, "command"),
    ({"command": {}}, "command"),
]
NOT_OF_A_COMMAND = [({"reason": "again"}, "Unknown field"), ({"rehearse": True}, "isn’t rehearsed")]


@pytest.mark.parametrize(("change", "field"), WRONG)
def test_bad_input_is_refused_and_named(olga, body, change, field):
    answer = olga.post("/schedules", body | change)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(("field", "said"), NOT_OF_A_COMMAND)
def test_a_command_has_its_values_alone(olga, body, field, said):
    answer = olga.post("/schedules", body | {"command": body["command"] | field})
    assert answer.status_code == 400
    assert said in str(answer.json()["fields"])


@pytest.mark.parametrize(
    "command",
    [{"command": "delete", "predicate": None}, {"command": "restore", "version": 0}],
)
def test_what_needs_a_review_each_time_cannot_be_scheduled(olga, body, sales, command):
    answer = olga.post("/schedules", body | {"command": {"table": str(sales.pk), **command}})
    assert answer.status_code == 400
    assert "can’t be scheduled" in answer.json()["detail"]


def test_the_command_is_checked_as_a_request_of_it(olga, body, sales):
    table = str(sales.pk)
    reason = body | {"command": {**body["command"], "reason": "x"}}
    data = body | {"command": {"command": "optimize", "table": table, "predicate": "id = 1"}}
    assert olga.post("/schedules", reason).status_code == 400
    answer = olga.post("/schedules", data)
    assert answer.status_code == 400
    assert answer.json()["engine"]["condition"] == "DELTA_NON_PARTITION_COLUMN_REFERENCE"


def test_a_name_is_taken_once_and_free_after_a_removal(olga, made, body):
    again = olga.post("/schedules", body)
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    assert olga.delete(f"/schedules/{made['id']}").status_code == 204
    assert olga.get(f"/schedules/{made['id']}").status_code == 404
    assert olga.post("/schedules", body).status_code == 201


def test_the_same_key_makes_one_schedule(olga, body):
    first = olga.post("/schedules", body, **{"Idempotency-Key": "k1"})
    second = olga.post("/schedules", body, **{"Idempotency-Key": "k1"})
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]
    other = olga.post("/schedules", body | {"cron": "0 4 * * *"}, **{"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_pause_and_resume(olga, made):
    at = f"/schedules/{made['id']}"
    paused = olga.post(f"{at}/pause")
    assert (paused.status_code, paused.json()["state"], paused.json()["next_run_at"]) == (200, "paused", None)
    assert olga.post(f"{at}/pause").json()["code"] == "wrong_state"
    assert olga.post(f"{at}/resume").json()["state"] == "active"
    assert olga.post(f"{at}/resume").status_code == 409


def test_a_definition_is_approved_once_by_another_person(reviewed, made, olga, anna):
    at, digest = f"/schedules/{made['id']}", {"digest": made["digest"]}
    assert (made["state"], made["next_run_at"]) == ("awaiting_approval", None)
    assert olga.post(f"{at}/approve", digest).json()["code"] == "not_your_own"
    assert anna.post(f"{at}/approve", {"digest": "0" * 64}).json()["code"] == "stale"
    approved = anna.post(f"{at}/approve", digest | {"comment": "fine"})
    assert (approved.status_code, approved.json()["state"]) == (200, "active")
    assert [(each["by"], each["comment"]) for each in approved.json()["approvals"]] == [(anna.person.name, "fine")]
    assert anna.post(f"{at}/approve", digest).json()["code"] == "wrong_state"


def test_a_change_voids_its_approvals_and_gives_it_another_digest(reviewed, made, olga, anna):
    at = f"/schedules/{made['id']}"
    anna.post(f"{at}/approve", {"digest": made["digest"]})
    changed = olga.patch(at, {"cron": "0 4 * * *"}).json()
    assert (changed["state"], changed["revision"]) == ("awaiting_approval", 2)
    assert changed["digest"] != made["digest"]
    assert changed["approvals"][0]["voided_at"] is not None
    assert anna.post(f"{at}/approve", {"digest": made["digest"]}).json()["code"] == "stale"
    renamed = olga.patch(at, {"name": "nights"}).json()
    assert (renamed["name"], renamed["digest"]) == ("nights", changed["digest"])
    assert anna.post(f"{at}/approve", {"digest": renamed["digest"]}).json()["state"] == "active"


def test_who_changed_it_does_not_approve_it_afterwards(reviewed, made, olga):
    both = caller("operator")
    from tests import factories

    factories.GrantFactory(person=both.person, role="approver")
    at = f"/schedules/{made['id']}"
    both.patch(at, {"window_minutes": 90})
    again = olga.patch(at, {"window_minutes": 100}).json()
    assert again["run_by"] == olga.person.name
    assert both.post(f"{at}/approve", {"digest": again["digest"]}).json()["code"] == "not_your_own"


def test_one_rejection_stops_an_active_schedule_until_it_is_changed(reviewed, made, olga, anna):
    at, digest = f"/schedules/{made['id']}", {"digest": made["digest"]}
    anna.post(f"{at}/approve", digest)
    berta = caller("approver")
    stopped = berta.post(f"{at}/reject", digest | {"comment": "at night the cluster sleeps"}).json()
    assert stopped["state"] == "stopped"
    assert "the cluster sleeps" in stopped["state_text"]
    assert olga.post(f"{at}/resume").status_code == 409
    assert olga.patch(at, {"cron": "0 12 * * *"}).json()["state"] == "awaiting_approval"


def test_a_table_that_has_moved_needs_a_new_definition(made, olga, sales):
    at = f"/schedules/{made['id']}"
    olga.post(f"{at}/pause")
    wider = {"name": "more", "type": "string", "nullable": True, "metadata": {}}
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": [*small_delta.FIELDS, wider]})
    refused = olga.post(f"{at}/resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state")
    assert "schema" in refused.json()["detail"]
    assert olga.patch(at, {"reason": "wider"}).json()["state"] == "active"


def test_a_schedule_keeps_its_table(made, olga, root):
    small_delta.create(Path(root.uri) / "other", [{"id": 1, "p": "a"}])
    from tests import factories

    other = factories.TableFactory(root=root, name="other")
    answer = olga.patch(f"/schedules/{made['id']}", {"command": {"command": "optimize", "table": str(other.pk)}})
    assert answer.status_code == 400
    assert "keeps its table" in answer.json()["detail"]


def test_a_viewer_reads_and_a_stranger_finds_nothing(made):
    viewer, stranger, at = caller("viewer"), caller(None), f"/schedules/{made['id']}"
    assert viewer.get(at).status_code == 200
    assert viewer.post(f"{at}/pause").status_code == 403
    assert viewer.patch(at, {"name": "x"}).status_code == 403
    assert stranger.get(at).status_code in {403, 404}


def test_who_sees_another_root_alone_finds_nothing_anywhere(made, body, tmp_path):
    from tests import factories

    (tmp_path / "other").mkdir()
    other = factories.root_at(tmp_path / "other")
    stranger, at = caller("operator", scope="root", root=other), f"/schedules/{made['id']}"
    changes = [stranger.patch(at, {"name": "x"}), stranger.delete(at)]
    acts = [stranger.post(f"{at}/{act}") for act in ("pause", "resume")]
    decisions = [stranger.post(f"{at}/{act}", {"digest": made["digest"]}) for act in ("approve", "reject")]
    reads = [stranger.get(at), stranger.get(f"{at}/runs"), stranger.post("/schedules", body | {"name": "mine"})]
    assert {answer.status_code for answer in (*changes, *acts, *decisions, *reads)} == {404}
    assert stranger.get("/schedules").json()["results"] == []
    assert Schedule.objects.get().revision == 1


def test_the_list_goes_on_page_by_page(made, olga, body):
    for number in range(4):
        assert olga.post("/schedules", body | {"name": f"nightly {number}"}).status_code == 201
    first = olga.get("/schedules?limit=3").json()
    second = olga.get(first["next"].partition("/api/v1")[2]).json()
    names = [each["name"] for each in (*first["results"], *second["results"])]
    assert names == ["nightly", *(f"nightly {number}" for number in range(4))]
    assert second["next"] is None


def test_the_database_refuses_what_the_service_would(reviewed, made, olga, anna):
    from django.db import IntegrityError, transaction

    schedule = Schedule.objects.get(pk=made["id"])
    said = {"schedule": schedule, "decision": "approve", "digest": schedule.digest}
    for who, digest in ((olga.person, schedule.digest), (anna.person, "0" * 64)):
        with pytest.raises(IntegrityError), transaction.atomic():
            ScheduleDecision.objects.create(**{**said, "person": who, "digest": digest})
    given = ScheduleDecision.objects.create(**said, person=anna.person)
    with pytest.raises(Exception, match="never changed"), transaction.atomic():
        ScheduleDecision.objects.filter(pk=given.pk).update(comment="no")


@pytest.fixture
def many(body: dict[str, Any]) -> dict[str, Any]:
    """The same on many tables."""
    return body | {"command": {"command": "optimize"}, "bounds": {}}


@pytest.mark.parametrize("where", ["root", "tag"])
def test_one_for_many_tables_names_its_root_or_tag(olga, many, sales, where):
    on = {"root": str(sales.root_id)} if where == "root" else {"tag": "gold"}
    answer = olga.post("/schedules", many | {"on": on})
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert (made["table"], made["on"], made["state"]) == (None, on, "active")
    assert made["command"] == {"command": "optimize", "predicate": None, "zorder_by": None, "full": False}
    assert olga.get("/schedules").json()["results"] == [made]
    changed = olga.patch(f"/schedules/{made['id']}", {"cron": "0 4 * * *"}).json()
    assert (changed["on"], changed["cron"], changed["digest"] != made["digest"]) == (on, "0 4 * * *", True)
    again = olga.patch(f"/schedules/{made['id']}", {"command": {"command": "optimize", "predicate": "p = 'FR'"}}).json()
    assert (again["on"], again["command"]["predicate"]) == (on, "p = 'FR'")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"on": {"root": "R", "tag": "gold"}}, "on"),
        ({"on": {}}, "on"),
        ({"on": {"tag": ""}}, "on"),
        ({"on": {"tag": " gold"}}, "tag"),
        ({"on": {"tag": "gold"}, "command": {"command": "optimize", "table": "T"}}, "command"),
        ({"on": {"tag": "gold"}, "command": {"command": "delete", "predicate": "id = 1"}}, "command"),
        ({"command": {"command": "optimize"}}, "command"),
    ],
)
def test_a_place_that_is_none_or_two_is_refused(olga, many, sales, change, field):
    text = json.dumps(many | change).replace('"R"', f'"{sales.root_id}"').replace('"T"', f'"{sales.pk}"')
    answer = olga.post("/schedules", json.loads(text))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.json()
    assert any(name.startswith(field) for name in answer.json()["fields"]), answer.json()
    assert not Schedule.objects.exists()


def test_a_root_that_the_person_does_not_see_is_not_found(olga, many):
    answer = olga.post("/schedules", many | {"on": {"root": "00000000-0000-0000-0000-000000000001"}})
    assert answer.status_code == 404


def test_who_sees_one_table_sees_a_tag_s_schedule_and_the_runs_there_alone(olga, many, sales, root):
    other = factories.TableFactory(root=root, name="other", path=f"{root.uri}/other")
    made = olga.post("/schedules", many | {"on": {"tag": "gold"}}).json()
    of_root = olga.post("/schedules", many | {"name": "lake", "on": {"root": str(root.pk)}}).json()
    Table.objects.update(tags=["gold"])
    schedule = Schedule.objects.get(pk=made["id"])
    for table in (sales, other):
        ScheduleRun.objects.create(
            schedule=schedule, table=table, due_at=timezone.now(), digest=schedule.digest, outcome="skipped"
        )
    viewer = Caller(factories.appointed("tom", Role.VIEWER, GrantScope(table_id=sales.pk)))
    assert [row["name"] for row in viewer.get("/schedules").json()["results"]] == ["lake", made["name"]]
    runs = viewer.get(f"/schedules/{made['id']}/runs").json()["results"]
    assert [run["table"] for run in runs] == [str(sales.pk)]
    assert len(olga.get(f"/schedules/{made['id']}/runs").json()["results"]) == 2
    stranger = Caller(factories.appointed("ute", Role.VIEWER, GrantScope(root_id=factories.RootFactory().pk)))
    assert stranger.get(f"/schedules/{of_root['id']}").status_code == 404
    operator = Caller(factories.appointed("eve", Role.OPERATOR, GrantScope(table_id=sales.pk)))
    refused = operator.post(f"/schedules/{made['id']}/pause")
    assert (refused.status_code, "operator of all tables tagged gold" in refused.json()["detail"]) == (403, True)


def test_the_same_key_makes_one_schedule_of_a_root(olga, many, sales):
    body = many | {"on": {"root": str(sales.root_id)}}
    answers = [olga.post("/schedules", body, **{"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert Schedule.objects.count() == 1
