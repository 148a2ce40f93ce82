"""`/api/v1/jobs`: asking, following, cancelling."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.accounts.models import Grant
from console.audit.models import Event
from jobs.domain.states import State
from jobs.lifecycle import long_poll
from jobs.models import Job, JobEvent, LogLine
from tests import clock, factories
from tests.clients import Caller, caller

pytestmark = pytest.mark.django_db

SHAPE = {
    "id", "command", "parameters", "table", "state", "state_text", "table_state_text", "requested_by", "requested_at",
    "reason", "schedule", "digest", "base_version", "expires_at", "policy", "approvals", "preview", "drift", "progress", "attempts",
    "result", "error", "finished_at",
}  # fmt: skip


ERROR = {"code": "x", "message": "m", "engine": None, "table_state": "t", "what_to_do": "w"}


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "a.parquet").write_bytes(b"PAR1")
    return factories.RootFactory(name="lake", uri=str(tmp_path))


def convert(lake, **changes):
    body = {"command": "convert", "path": f"{lake.uri}/orders", "source_format": "parquet", "reason": "move to Delta"}
    return {**body, "partition_schema": None, **changes}


def test_a_request_answers_201_with_the_whole_job(lake):
    operator = caller("operator")
    answer = operator.post("/jobs", convert(lake))
    job = answer.json()
    assert answer.status_code == 201
    assert set(job) == SHAPE
    assert (job["command"], job["state"], job["requested_by"]) == ("convert", "previewing", operator.person.name)
    assert job["table"] == {"id": job["table"]["id"], "name": "orders", "path": f"{lake.uri}/orders"}
    assert job["policy"]["required_approvals"] == 0
    unknown = ("schedule", "digest", "base_version", "preview", "drift", "result", "error", "finished_at")
    assert [job[name] for name in unknown] == [None] * len(unknown)
    assert (job["approvals"], job["attempts"]) == ([], [])
    assert job["requested_at"].endswith("Z")
    assert Event.objects.filter(action="job.request", job=job["id"]).count() == 1


def test_the_same_key_and_body_answer_200_with_the_job_as_it_is_now(lake):
    operator = caller("operator")
    first = operator.post("/jobs", convert(lake), **{"idempotency-key": "k1"}).json()
    Job.objects.filter(pk=first["id"]).update(state=State.WITHDRAWN, finished_at="2026-01-01T00:00:00Z")
    again = operator.post("/jobs", convert(lake), **{"idempotency-key": "k1"})
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["state"]) == (first["id"], "withdrawn")


def test_the_same_key_with_another_body_is_409(lake):
    operator = caller("operator")
    operator.post("/jobs", convert(lake), **{"idempotency-key": "k1"})
    other = operator.post("/jobs", convert(lake, reason="another"), **{"idempotency-key": "k1"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert Job.objects.count() == 1


@pytest.mark.parametrize("reason", ["move to Delta", "another"])
def test_a_key_tells_nothing_of_a_job_that_one_may_no_longer_see(lake, reason):
    operator = caller("operator")
    operator.post("/jobs", convert(lake, reason=reason), **{"idempotency-key": "k1"})
    Grant.objects.filter(person=operator.person).delete()
    factories.GrantFactory(person=operator.person, role="operator", root=factories.RootFactory())
    answer = operator.post("/jobs", convert(lake), **{"idempotency-key": "k1"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_same_key_of_somebody_else_is_theirs(lake):
    caller("operator").post("/jobs", convert(lake), **{"idempotency-key": "k1"})
    other = caller("operator").post("/jobs", convert(lake, collect_stats=False), **{"idempotency-key": "k1"})
    assert other.status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb"])
def test_an_odd_key_is_400(lake, key):
    answer = caller("operator").post("/jobs", convert(lake), **{"idempotency-key": key})
    assert (answer.status_code, Job.objects.count()) == (400, 0)


def test_the_same_open_request_is_409_and_names_the_job(lake):
    operator = caller("operator")
    first = operator.post("/jobs", convert(lake)).json()
    again = operator.post("/jobs", convert(lake))
    assert (again.status_code, again.json()["code"], again.json()["job"]) == (409, "already_open", first["id"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"reason": "  "}, "reason"),
        ({"command": "truncate"}, "command"),
        ({"colect_stats": True}, "colect_stats"),
        ({"collect_stats": "yes"}, "collect_stats"),
        ({"path": 5}, "path"),
        ({"path": None}, "path"),
        ({"name": "db.orders"}, "path"),
        ({"source_format": None}, "source_format"),
        ({"source_format": "csv"}, "source_format"),
    ],
)
def test_a_wrong_field_is_400_and_named(lake, changes, field):
    answer = caller("operator").post("/jobs", convert(lake, **changes))
    assert answer.status_code == 400
    assert answer["content-type"] == "application/problem+json"
    assert field in answer.json()["fields"]
    assert Job.objects.count() == 0


@pytest.mark.parametrize("missing", ["command", "reason", "source_format"])
def test_a_missing_field_is_400_and_named(lake, missing):
    body = convert(lake)
    del body[missing]
    answer = caller("operator").post("/jobs", body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [missing])


def test_another_format_is_refused_in_deltas_words(lake):
    engine = caller("operator").post("/jobs", convert(lake, source_format="csv")).json()["engine"]
    assert engine["condition"] == "DELTA_CONVERT_NON_PARQUET_TABLE"
    assert engine["sqlstate"] == "0AKDC"


def test_a_partition_schema_that_is_none_is_400(lake):
    answer = caller("operator").post("/jobs", convert(lake, partition_schema="day date); drop table x --"))
    assert (answer.status_code, Job.objects.count()) == (400, 0)


@pytest.mark.parametrize("path", ["/etc", "orders", "/lake/../etc", "s3a://bucket/x"])
def test_a_path_outside_the_roots_is_403_and_recorded(lake, path):
    answer = caller("operator").post("/jobs", convert(lake, path=path))
    assert (answer.status_code, answer.json()["code"]) == (403, "outside_roots")
    assert Event.objects.filter(action="job.request", outcome="refused").count() == 1


def test_no_such_directory_is_404(lake):
    assert caller("operator").post("/jobs", convert(lake, path=f"{lake.uri}/none")).status_code == 404


@pytest.mark.parametrize("role", ["viewer", "approver", "auditor", "admin"])
def test_only_an_operator_requests(lake, role):
    answer = caller(role).post("/jobs", convert(lake))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_an_operator_of_another_root_is_outside(lake, tmp_path_factory):
    other = factories.RootFactory(uri=str(tmp_path_factory.mktemp("other")))
    answer = caller("operator", root=other).post("/jobs", convert(lake))
    assert (answer.status_code, answer.json()["code"]) == (403, "outside_roots")


def test_a_token_that_only_reads_does_not_request(lake):
    assert caller("operator", "read").post("/jobs", convert(lake)).status_code == 403


def test_a_stranger_gets_404(lake):
    job = factories.job(table=factories.TableFactory(root=lake))
    stranger = caller("viewer", root=factories.RootFactory())
    for path in ("", "/events", "/log"):
        assert stranger.get(f"/jobs/{job.pk}{path}").status_code == 404
    assert stranger.get("/jobs").json()["results"] == []


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_the_whole_shape(state):
    job = factories.job(state)
    shown = caller("viewer").get(f"/jobs/{job.pk}").json()
    assert set(shown) == SHAPE
    assert shown["state"] == state
    assert shown["state_text"]
    assert shown["table_state_text"]


def test_the_preview_is_the_answer_of_inspect_without_its_list_of_files():
    job = factories.job()
    viewer = caller("viewer")
    for shown in (viewer.get(f"/jobs/{job.pk}").json(), viewer.get("/jobs").json()["results"][0]):
        assert shown["preview"]["num_files"] == 2
        assert "manifest" not in shown["preview"]


def test_attempts_are_the_runs_alone():
    job = factories.job("running")
    factories.attempt(job, kind="preview", number=0, token=1)
    attempts = caller("viewer").get(f"/jobs/{job.pk}").json()["attempts"]
    assert [(a["number"], a["worker"], a["ended_at"], a["outcome"]) for a in attempts] == [
        (1, "spark@host", None, None)
    ]


def test_the_result_has_texts_as_history_gives_them():
    result = {
        "version": 3, "operation": "CONVERT", "operation_parameters": {"numFiles": "4"}, "operation_metrics": {},
        "num_affected_rows": None, "no_op": False, "drifted": False, "read_version": None, "details": {},
    }  # fmt: skip
    job = factories.job("succeeded", result=result, version=3)
    shown = caller("viewer").get(f"/jobs/{job.pk}").json()
    assert shown["result"] == result
    assert shown["table_state_text"] == "Committed as version 3."


def test_a_failure_shows_the_engines_three_words():
    engine = {"condition": "DELTA_X", "sqlstate": "42000", "message": "no", "java_class": "org.x", "retryable": False}
    error = {"code": "engine_failed", "message": "no", "engine": engine, "table_state": "t", "what_to_do": "w"}
    job = factories.job("failed", error=error)
    shown = caller("viewer").get(f"/jobs/{job.pk}").json()["error"]
    assert shown["engine"] == {"condition": "DELTA_X", "sqlstate": "42000", "message": "no"}


def test_the_list_is_narrowed_and_paged_by_position():
    table = factories.TableFactory()
    person = factories.PersonFactory(name="ana")
    for n in range(5):
        factories.job("withdrawn", table=table, requested_by=person, parameters={"n": n})
    factories.job("queued")
    viewer = caller("viewer")
    asked = {"state": "withdrawn", "by": "ANA", "table": str(table.pk), "command": "convert", "limit": 2}
    seen, address, pages = [], None, 0
    while pages == 0 or address:
        page = (viewer.get(address) if address else viewer.get("/jobs", **asked)).json()
        seen += [job["id"] for job in page["results"]]
        address, pages = page["next"], pages + 1
    assert pages == 3
    assert seen == [str(pk) for pk in Job.objects.filter(state="withdrawn").values_list("pk", flat=True)]
    assert page["previous"] is not None


def test_open_is_every_state_that_is_no_end():
    for state in State:
        factories.job(state)
    shown = caller("viewer").get("/jobs", state="open", limit=500).json()["results"]
    assert {job["state"] for job in shown} == {
        "previewing", "awaiting_approval", "queued", "running", "cancelling", "reconciling"
    }  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [{"state": "sleeping"}, {"table": "x"}, {"limit": "501"}, {"limit": "0"}, {"cursor": "zzz"}, {"by": "\x00"}],
)
def test_an_odd_filter_is_400(query):
    assert caller("viewer").get("/jobs", **query).status_code == 400


def test_the_list_takes_the_same_queries_for_few_jobs_and_many():
    viewer = caller("viewer")

    def queries():
        with CaptureQueriesContext(connection) as seen:
            viewer.get("/jobs", limit=500)
        return len(seen)

    queries()  # the token's first use is noted
    factories.job()
    few = queries()
    for _ in range(12):
        factories.job("running")
    assert queries() == few <= 8


def test_events_and_log_are_lists_oldest_first():
    job = factories.job("running")
    JobEvent.objects.create(job=job, kind="running", who="w", source="queued", target="running", text="Running.")
    claim = job.attempts.get()
    for text in ("one", "two"):
        LogLine.objects.create(attempt=claim, at="2026-01-01T00:00:00Z", text=text)
    viewer = caller("viewer")
    events = viewer.get(f"/jobs/{job.pk}/events").json()["results"]
    assert [(e["kind"], e["from_state"], e["to_state"]) for e in events][-1] == ("running", "queued", "running")
    first = viewer.get(f"/jobs/{job.pk}/log", limit=1).json()
    assert [line["text"] for line in first["results"]] == ["one"]
    assert [line["text"] for line in viewer.get(first["next"]).json()["results"]] == ["two"]


def test_withdraw_is_for_the_one_who_asked():
    job = factories.job()
    assert caller("operator").post(f"/jobs/{job.pk}/withdraw").json()["code"] == "forbidden"
    factories.GrantFactory(person=job.requested_by, role="operator")
    answer = Caller(job.requested_by).post(f"/jobs/{job.pk}/withdraw")
    assert (answer.status_code, answer.json()["state"]) == (200, "withdrawn")


def test_cancel_at_once_while_it_waits_and_409_afterwards():
    job = factories.job()
    admin = caller("admin")
    assert admin.post(f"/jobs/{job.pk}/cancel").json()["state"] == "cancelled"
    again = admin.post(f"/jobs/{job.pk}/cancel")
    assert (again.status_code, again.json()["code"], again.json()["state"]) == (409, "wrong_state", "cancelled")


def test_cancel_of_a_running_job_is_a_state_that_the_worker_acts_on():
    job = factories.job("running")
    assert caller("admin").post(f"/jobs/{job.pk}/cancel").json()["state"] == "cancelling"


def test_an_admins_token_without_the_scope_cancels_nothing_of_others():
    person = factories.person_with("admin")
    factories.GrantFactory(person=person, role="operator")
    job = factories.job()
    answer = Caller(person, "read", "request").post(f"/jobs/{job.pk}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert Job.objects.get().state == "queued"


def test_an_act_takes_no_fields():
    job = factories.job()
    answer = caller("admin").post(f"/jobs/{job.pk}/cancel", {"force": True})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["force"])


@pytest.mark.parametrize("wait", ["61", "-1", "nan", "soon"])
def test_an_odd_wait_is_400(wait):
    assert caller("viewer").get(f"/jobs/{uuid.uuid4()}", wait=wait).status_code == 400


def test_waiting_ends_at_once_for_a_job_that_has_ended():
    job = factories.job("succeeded")
    assert caller("viewer").get(f"/jobs/{job.pk}", wait=60).json()["state"] == "succeeded"


def test_waiting_gives_the_job_as_it_is_when_time_is_up():
    job = factories.job("queued")
    assert caller("viewer").get(f"/jobs/{job.pk}", wait=0.3).json()["state"] == "queued"


@pytest.mark.parametrize(
    ("until", "moves", "seen"),
    [("state", ["running"], "running"), ("ended", ["running", "failed"], "failed")],
)
def test_waiting_returns_when_the_state_has_moved(monkeypatch, until, moves, seen):
    job = factories.job("queued")
    left = list(moves)

    def meanwhile(_seconds):
        assert not connection.in_atomic_block or connection.savepoint_ids == []  # waiting opens no transaction
        state = left.pop(0)  # fails where the wait goes on after the last move
        ended = {"error": ERROR, "finished_at": "2026-01-01T00:00:00Z"} if state == "failed" else {}
        Job.objects.filter(pk=job.pk).update(state=state, attempt=1, token=1, **ended)

    clock.replace(monkeypatch, "jobs.lifecycle.long_poll", sleep=meanwhile)
    assert caller("viewer").get(f"/jobs/{job.pk}", wait=60, until=until).json()["state"] == seen
    assert left == []


def test_a_look_while_waiting_is_one_query(monkeypatch):
    job = factories.job("queued")
    monkeypatch.setattr(long_poll, "PAUSE_SECONDS", 0)
    with CaptureQueriesContext(connection) as seen:
        long_poll.wait(job, 0.05, job.requested_by_id)
    assert {q["sql"].split(" WHERE")[0] for q in seen} == {'SELECT "jobs_job"."state" AS "state" FROM "jobs_job"'}
