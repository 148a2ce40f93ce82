"""Deletes, restores and their reviews over HTTP, as automation sees them."""

import threading
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from jobs.models import Edit, Job, Read
from jobs.worker.claims import claim_preview, claim_run
from jobs.worker.execution import Execution, work
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(timing, no_wakes):
    return timing(watch=0.3, lease=5, record_retry=5)


@pytest.fixture
def sales(tmp_path):
    return lakes.sales_in(factories.RootFactory(uri=str(tmp_path)))


@pytest.fixture
def operator(sales):
    return caller("operator")


@pytest.fixture
def approver(sales):
    return caller("approver")


def work_on(claiming) -> None:
    engine: Any = SmallEngine()
    claim = claiming(factories.holder())
    assert claim is not None
    work(Execution(claim, engine, threading.Event(), engine.end_hard))


def delete(who, table, predicate: Any = "p = 'FR' AND id < 5", **more):
    return who.post(
        "/jobs", {"command": "delete", "table": str(table.pk), "predicate": predicate, "reason": "old"} | more
    )


def awaiting(who, table, predicate: Any = "p = 'FR' AND id < 5") -> dict[str, Any]:
    made = delete(who, table, predicate).json()
    work_on(claim_preview)
    found: dict[str, Any] = who.get(f"/jobs/{made['id']}").json()
    return found


def test_a_delete_is_asked_previewed_approved_and_run(operator, approver, sales):
    asked = delete(operator, sales)
    assert asked.status_code == 201
    job = asked.json()
    assert (job["state"], job["digest"], job["preview"]["speed"]) == ("previewing", None, "log")
    work_on(claim_preview)
    job = approver.get(f"/jobs/{job['id']}").json()
    assert job["state"] == "awaiting_approval"
    assert job["policy"]["required_approvals"] == 1
    assert job["drift"]["verdict"] == "unmoved"
    assert (job["preview"]["class"], job["preview"]["rows_matched"], job["preview"]["speed"]) == (
        "ordinary",
        2,
        "spark",
    )
    assert "files_sha256" not in job["preview"]
    yes = approver.post(f"/jobs/{job['id']}/approve", {"digest": job["digest"], "comment": "go"})
    assert yes.status_code == 200
    decided = yes.json()["approvals"][0]
    assert (decided["by"], decided["decision"], decided["digest"]) == (approver.person.name, "approve", job["digest"])
    assert yes.json()["state"] == "queued"
    work_on(claim_run)
    job = operator.get(f"/jobs/{job['id']}").json()
    assert (job["state"], job["result"]["version"], job["result"]["num_affected_rows"]) == ("succeeded", 1, 2)
    assert job["result"]["drifted"] is False


@pytest.mark.parametrize("body", [{"predicate": ""}, {"predicate": 5}, {"predicate": ["id = 1"]}])
def test_an_empty_predicate_is_no_whole_table(operator, sales, body):
    assert delete(operator, sales, **body).status_code == 400
    assert not Job.objects.exists()


def test_a_missing_predicate_is_no_whole_table(operator, sales):
    answer = operator.post("/jobs", {"command": "delete", "table": str(sales.pk), "reason": "old"})
    assert answer.status_code == 400
    assert "predicate" in answer.json()["fields"]


def test_a_refused_predicate_says_where_and_why(operator, sales):
    answer = delete(operator, sales, "id = 1 OR p = NULL")
    assert (answer.status_code, answer.json()["code"]) == (400, "predicate_refused")
    assert "IS NULL" in answer.json()["detail"]


HOSTILE = {
    "a subquery": "id IN (SELECT id FROM other)",
    "exists": "EXISTS (SELECT 1)",
    "a function that calls Java": "reflect('java.lang.Runtime', 'getRuntime') IS NULL",
    "another one": "java_method('java.util.UUID', 'randomUUID') = p",
    "a program": "TRANSFORM(id) USING 'sh -c id' IS NULL",
    "a file": "id IN (SELECT value FROM text.`/etc/passwd`)",
    "two statements": "id = 1; DROP TABLE t",
    "a comment": "id = 1 -- AND p = 'FR'",
    "another comment": "id = 1 /* all */",
    "a variable": "p = ${env:HOME}",
    "a variable in a text": "p = '${env:HOME}' OR ${x}",
    "chance": "rand() < 0.5",
    "a moving time": "current_timestamp() > TIMESTAMP '2020-01-01 00:00:00'",
    "all": "1 = 1",
    "all, in another way": "id = id OR id IS NULL OR id IS NOT NULL",
    "none": "1 = 2",
    "null": "p = NULL",
    "not in null": "id NOT IN (1, NULL)",
    "a control character": "p = 'a' AND\x07 id = 1",
    "a bidirectional one": "p = 'FR' AND \u202eid = 1",
    "nested deeply": "NOT " * 500 + "id = 1",
    "in parentheses": "(" * 3000 + "id = 1" + ")" * 3000,
    "an endless list": f"id IN ({', '.join(map(str, range(10_000)))})",
    "an unknown column": "nothing = 1",
    "a wrong type": "id = DATE '2020-01-01'",
    "a failing cast": "id = CAST('x' AS BIGINT)",
    "an aggregate": "count(id) > 1",
    "a window": "row_number() OVER (ORDER BY id) = 1",
    "a lambda": "exists(array(id), x -> x = 1)",
    "a star": "* = 1",
    "no condition": "id",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_hostile_is_refused_before_there_is_a_job(operator, sales, tmp_path, what):
    answer = delete(operator, sales, HOSTILE[what])
    assert (answer.status_code, answer.json()["code"]) == (400, "predicate_refused"), answer.json()
    assert answer.json()["detail"]
    assert not Job.objects.exists()
    assert small_delta.head(tmp_path / "sales") == 0


def test_megabytes_are_refused(operator, sales):
    assert delete(operator, sales, "id = 1 OR " * 200_000 + "id = 1").status_code == 413
    assert delete(operator, sales, "id = 1 OR " * 20_000 + "id = 1").status_code == 400


def test_ones_own_request_is_not_ones_own_to_approve(sales):
    both = caller("operator")
    factories.GrantFactory(person=both.person, role="approver")
    job = awaiting(both, sales)
    answer = both.post(f"/jobs/{job['id']}/approve", {"digest": job["digest"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_your_own")


def test_whoever_asked_is_told_so_even_without_the_role(operator, sales):
    job = awaiting(operator, sales)
    answer = operator.post(f"/jobs/{job['id']}/approve", {"digest": job["digest"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "not_your_own")


def test_a_token_to_ask_with_approves_nothing_though_its_owner_may(operator, sales):
    both = caller("operator", "read", "request")
    factories.GrantFactory(person=both.person, role="approver")
    job = awaiting(operator, sales)
    for act in ("approve", "reject"):
        answer = both.post(f"/jobs/{job['id']}/{act}", {"digest": job["digest"]})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert Job.objects.get(pk=job["id"]).state == "awaiting_approval"


def test_a_token_without_the_scope_approves_nothing(operator, sales):
    job = awaiting(operator, sales)
    weak = caller("approver", "read", "request")
    assert weak.post(f"/jobs/{job['id']}/approve", {"digest": job["digest"]}).status_code == 403


def test_a_browser_needs_a_recent_password(operator, sales):
    job = awaiting(operator, sales)
    client = browser(factories.person_with("approver"))
    body = {"digest": job["digest"], "comment": ""}
    answer = client.post(f"/api/v1/jobs/{job['id']}/approve", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "step_up_required")
    assert Job.objects.get(pk=job["id"]).state == "awaiting_approval"


def test_a_stale_digest_is_refused(operator, approver, sales):
    job = awaiting(operator, sales)
    for act in ("approve", "reject"):
        answer = approver.post(f"/jobs/{job['id']}/{act}", {"digest": "0" * 64})
        assert (answer.status_code, answer.json()["code"]) == (409, "stale")


def test_reject_comment_and_edit(operator, approver, sales):
    job = awaiting(operator, sales)
    assert approver.post(f"/jobs/{job['id']}/comment", {"comment": "sure?"}).status_code == 200
    events = approver.get(f"/jobs/{job['id']}/events").json()["results"]
    assert [event["text"] for event in events if event["kind"] == "comment"] == ["sure?"]
    edited = operator.post(f"/jobs/{job['id']}/edit", {"predicate": "id = 1", "reason": "fewer"})
    assert (edited.status_code, edited.json()["state"], edited.json()["digest"]) == (200, "previewing", None)
    assert approver.post(f"/jobs/{job['id']}/edit", {"predicate": "id = 2", "reason": "x"}).status_code == 403
    work_on(claim_preview)
    job = approver.get(f"/jobs/{job['id']}").json()
    no = approver.post(f"/jobs/{job['id']}/reject", {"digest": job["digest"], "comment": "not now"})
    assert (no.status_code, no.json()["state"]) == (200, "rejected")


def test_undo_names_later_commits_and_opens_a_restore(operator, approver, sales, tmp_path):
    job = awaiting(operator, sales)
    approver.post(f"/jobs/{job['id']}/approve", {"digest": job["digest"]})
    work_on(claim_run)
    small_delta.append(tmp_path / "sales", [{"id": 50, "p": "DE"}])
    refused = operator.post(f"/jobs/{job['id']}/undo", {"reason": "wrong"})
    assert (refused.status_code, refused.json()["code"]) == (409, "later_commits")
    assert refused.json()["commits"] == [2]
    made = operator.post(f"/jobs/{job['id']}/undo", {"reason": "wrong", "accept_commits": [2]})
    assert made.status_code == 201
    restore = made.json()
    assert (restore["command"], restore["parameters"]["version"], restore["state"]) == ("restore", 0, "previewing")
    work_on(claim_preview)
    shown = operator.get(f"/jobs/{restore['id']}").json()["preview"]
    assert {c["version"] for c in shown["commits_undone"]} == {1, 2}
    assert {"class", "to_version", "rows_back", "rows_gone", "files_back", "files_gone", "missing_files"} <= set(shown)


def test_a_restore_is_asked_for_by_version(operator, sales):
    body = {"command": "restore", "table": str(sales.pk), "version": 0, "reason": "back"}
    assert operator.post("/jobs", body).status_code == 201
    work_on(claim_preview)
    assert Job.objects.get().no_op
    assert operator.post("/jobs", body | {"version": 9}).status_code == 400


def test_an_undo_of_a_convert_has_nothing_to_undo(operator):
    job = factories.job("succeeded")
    answer = operator.post(f"/jobs/{job.pk}/undo", {"reason": "why"})
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_undo")


def test_a_sample_is_a_read_of_the_asker_and_an_event(operator, approver, sales):
    job = awaiting(operator, sales)
    answer = approver.get(f"/jobs/{job['id']}/sample")
    assert answer.status_code == 202
    read = Read.objects.get(pk=answer.json()["id"])
    assert (read.kind, read.person, read.question["version"]) == ("rows", approver.person, 0)
    assert read.question["predicate"]["node"] == "and"
    assert caller("admin").get(f"/jobs/{job['id']}/sample").status_code == 403


def test_an_exact_preview_is_a_read(sales):
    answer = caller("viewer").post("/previews?exact=true", {"table": str(sales.pk), "predicate": "id < 5"})
    assert answer.status_code == 202
    read = Read.objects.get(pk=answer.json()["id"])
    assert (read.kind, read.question["version"], read.question["tree"]["node"]) == ("matched", 0, "comparison")


def test_a_stranger_sees_no_job(operator, sales):
    job = awaiting(operator, sales)
    stranger = caller(None)
    for act in ("approve", "reject", "comment", "edit", "undo"):
        assert stranger.post(f"/jobs/{job['id']}/{act}", {"digest": "x"}).status_code in (403, 404)


@pytest.mark.parametrize("statement", ["delete from jobs_edit", "update jobs_edit set revision = 9"])
def test_who_edited_a_request_stays_on_record(operator, sales, statement):
    job = delete(operator, sales).json()
    edit = Edit.objects.create(job_id=job["id"], person=operator.person, revision=1, before={}, after={})
    with pytest.raises(DatabaseError, match="who edited a request is never changed or removed"), transaction.atomic():
        connection.cursor().execute(statement)
    assert Edit.objects.get().revision == edit.revision
