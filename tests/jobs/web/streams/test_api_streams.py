"""Streams over HTTP."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from console.audit.models import Event
from jobs.models import Stream, StreamBatch
from jobs.streams import acts
from jobs.streams.definition import wanted_of
from tables.models import Table
from tests import factories
from tests.clients import Caller, caller
from tests.factories import lakes
from tests.jobs import small_delta

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def root(tmp_path: Path) -> Any:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "0.json").write_text(json.dumps({"id": 1, "p": "a"}))
    return factories.root_at(tmp_path)


@pytest.fixture
def olga(root: Any) -> Caller:
    return caller("operator")


@pytest.fixture
def body(root: Any) -> dict[str, Any]:
    return {
        "name": "clicks",
        "reason": "clicks of the shop",
        "source": {"path": f"{root.uri}/landing", "format": "json", "schema": "id BIGINT, p STRING"},
        "target": {"path": f"{root.uri}/clicks"},
        "output_mode": "append",
        "trigger": {"interval": "30s"},
    }


def made(olga: Caller, body: dict[str, Any]) -> dict[str, Any]:
    answer = olga.post("/streams", body)
    assert answer.status_code == 201, answer.content
    return answer.json()  # type: ignore[no-any-return]


def test_a_stream_is_created_stopped_with_its_prediction_and_checkpoint(olga, body, root):
    shown = made(olga, body)
    assert (shown["name"], shown["state"], shown["rounds"]) == ("clicks", "stopped", 0)
    assert shown["sink"] == f"DeltaSink[{root.uri}/clicks]"
    assert shown["prediction"]["outcome"] == "creates"
    assert shown["checkpoint"].endswith(f"/streams/{shown['id']}")
    assert shown["source"] == body["source"]
    assert shown["trigger"] == {"interval": "30s"}
    assert olga.get("/streams").json()["results"] == [shown]
    assert olga.get(f"/streams/{shown['id']}").json() == shown
    event = Event.objects.get(action="stream.create")
    assert (event.object_id, (event.after or {})["output_mode"]) == (shown["id"], "append")


def test_run_once_answers_with_the_rounds_job(olga, body):
    stream = made(olga, body)
    answer = olga.post(f"/streams/{stream['id']}/run-once")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["command"], job["state"]) == ("stream_round", "queued")
    assert job["parameters"]["definition"]["output_mode"] == "append"
    again = olga.post(f"/streams/{stream['id']}/run-once")
    assert (again.status_code, again.json()["code"], again.json()["job"]) == (409, "already_open", job["id"])
    assert olga.get("/jobs", command="stream_round").json()["results"][0]["id"] == job["id"]
    assert olga.get(f"/streams/{stream['id']}").json()["round"] == job["id"]


def test_the_same_key_answers_with_the_same_round(olga, body):
    stream = made(olga, body)
    key = {"Idempotency-Key": "nightly 7"}
    first = olga.post(f"/streams/{stream['id']}/run-once", **key)
    again = olga.post(f"/streams/{stream['id']}/run-once", **key)
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    other = olga.post(f"/streams/{stream['id']}/start", **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_the_same_key_of_a_start_answers_with_the_round_that_it_met(olga, body):
    stream = olga.post("/streams", body).json()
    waiting = olga.post(f"/streams/{stream['id']}/run-once").json()
    key = {"Idempotency-Key": "nightly 8"}
    first = olga.post(f"/streams/{stream['id']}/start", **key)
    again = olga.post(f"/streams/{stream['id']}/start", **key)
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"] == waiting["id"]
    without = olga.post(f"/streams/{stream['id']}/start")
    assert (without.status_code, without.json()["code"]) == (409, "wrong_state")
    other = olga.post(f"/streams/{stream['id']}/run-once", **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")


def test_the_same_key_creates_one_stream(olga, body):
    key = {"Idempotency-Key": "deploy 12"}
    first = olga.post("/streams", body, **key)
    Stream.objects.update(state_text="as it is now")
    again = olga.post("/streams", body, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["id"], again.json()["state_text"]) == (first.json()["id"], "as it is now")
    other = olga.post("/streams", {**body, "filter": "id > 1"}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert Stream.objects.count() == Event.objects.filter(action="stream.create").count() == 1


def test_a_key_is_its_persons_own(olga, body, root):
    key = {"Idempotency-Key": "deploy 12"}
    olga.post("/streams", body, **key)
    others = {**body, "name": "second", "target": {"path": f"{root.uri}/second"}}
    assert caller("operator").post("/streams", others, **key).status_code == 201


def test_a_key_of_a_removed_stream_makes_no_other(olga, body):
    key = {"Idempotency-Key": "deploy 12"}
    stream = olga.post("/streams", body, **key).json()
    olga.delete(f"/streams/{stream['id']}")
    again = olga.post("/streams", body, **key)
    assert (again.status_code, again.json()["code"]) == (409, "idempotency_conflict")
    assert "removed" in again.json()["detail"]


def test_a_key_tells_nothing_of_a_stream_that_one_may_no_longer_see(olga, body):
    key = {"Idempotency-Key": "deploy 12"}
    olga.post("/streams", body, **key)
    olga.person.grants.all().delete()
    factories.GrantFactory(person=olga.person, role="operator", root=factories.RootFactory(uri="/elsewhere"))
    assert olga.post("/streams", body, **key).status_code == 404


def test_a_refused_request_leaves_its_key_unused(olga, body):
    key = {"Idempotency-Key": "deploy 12"}
    assert olga.post("/streams", {**body, "filter": "nothing > 1"}, **key).status_code == 400
    assert olga.post("/streams", {**body, "reason": "half a pair: \ud800"}, **key).status_code == 400
    assert olga.post("/streams", body, **key).status_code == 201


def test_the_same_request_twice_at_once_creates_one_stream(olga, body, root, monkeypatch: pytest.MonkeyPatch):
    body["checkpoint"] = f"{root.uri}/checkpoint"
    both = threading.Barrier(2, timeout=20)

    def wanted(*args: Any) -> Any:
        found = wanted_of(*args)
        both.wait()  # neither has found the other's stream, and both are about to write theirs
        return found

    monkeypatch.setattr(acts, "wanted_of", wanted)

    def ask(_: int) -> Any:
        try:
            return Caller(olga.person).post("/streams", body, **{"Idempotency-Key": "deploy 12"})
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(ask, range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 201], [answer.content for answer in answers]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Stream.objects.count() == 1
    assert Path(root.uri, "clicks").is_dir()
    assert Path(root.uri, "checkpoint").is_dir()


def test_start_and_stop(olga, body):
    stream = made(olga, body)
    assert olga.post(f"/streams/{stream['id']}/start").status_code == 202
    assert olga.get(f"/streams/{stream['id']}").json()["state"] == "running"
    twice = olga.post(f"/streams/{stream['id']}/start")
    assert (twice.status_code, twice.json()["code"]) == (409, "wrong_state")
    assert olga.delete(f"/streams/{stream['id']}").status_code == 409
    assert olga.post(f"/streams/{stream['id']}/stop").json()["state"] == "stopped"
    assert olga.post(f"/streams/{stream['id']}/stop").status_code == 409
    Stream.objects.get().round_set.update(booked_at="2026-11-22T10:00:00Z")
    assert olga.delete(f"/streams/{stream['id']}").status_code == 204
    assert olga.get(f"/streams/{stream['id']}").status_code == 404


def test_a_round_isnt_requested_as_a_job(olga, body):
    made(olga, body)
    assert olga.post("/jobs", {"command": "stream_round", "reason": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("change", "status", "code", "field"),
    [
        ({"output_mode": "update"}, 400, "invalid", "output_mode"),
        ({"trigger": {"interval": "5s"}}, 400, "invalid", "trigger"),
        ({"trigger": "once"}, 400, "invalid", "trigger"),
        ({"options": {"checkpointLocation": "/etc"}}, 400, "invalid", "options"),
        ({"options": {"header": True}}, 400, "invalid", "options"),
        ({"name": " "}, 400, "invalid", "name"),
        ({"reason": "  "}, 400, "invalid", "reason"),
        ({"filter": "nothing > 1"}, 400, "predicate_refused", "filter"),
        ({"select": ["absent"]}, 400, "step_refused", None),
        ({"cast": {"id": "no such type"}}, 400, "step_refused", None),
        ({"source": {"path": "LANDING", "format": "orc", "schema": "id BIGINT"}}, 400, "invalid", "source.format"),
        ({"source": {"path": "LANDING", "format": "json"}}, 400, "schema_refused", None),
        ({"source": {"path": "LANDING", "format": "json", "schema": "id WHAT"}}, 400, "schema_refused", None),
        ({"source": {"path": "/etc", "format": "json", "schema": "id BIGINT"}}, 403, "outside_roots", None),
        ({"source": {"path": "LANDING/absent", "format": "json", "schema": "id BIGINT"}}, 404, "not_found", None),
        ({"target": {"path": "/etc/clicks"}}, 403, "outside_roots", None),
        ({"target": {"path": "LANDING"}}, 422, "not_delta", "target.path"),
        ({"target": {"path": "LANDING/inner"}}, 400, "invalid", "target"),
        ({"trigger": {"interval": "30s", "more": 1}}, 400, "invalid", "trigger"),
        ({"options": {"maxFilesPerTrigger": "many"}}, 400, "invalid", "options"),
        ({"options": {"mergeSchema": "yes"}}, 400, "invalid", "options"),
        (
            {"source": {"path": "LANDING", "format": "json", "schema": "id BIGINT COMMENT 'a\u0000b'"}},
            400,
            "invalid",
            "source",
        ),
        ({"checkpoint": "/etc/checkpoint"}, 403, "outside_roots", None),
        ({"checkpoint": "LANDING/inner"}, 400, "invalid", "checkpoint"),
        ({"unheard": 1}, 400, "invalid", "unheard"),
        ({"output_mode": "complete"}, 422, "schema_refused", None),
        ({"aggregate": {"group_by": ["p"], "count_as": "n"}}, 422, "schema_refused", None),
    ],
)
def test_a_definition_that_cant_run_is_refused_and_nothing_is_created(olga, body, root, change, status, code, field):
    text = json.dumps({**body, **change}).replace("LANDING", f"{root.uri}/landing")
    answer = olga.post("/streams", json.loads(text))
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    if field:
        assert field in problem["fields"]
    assert not Stream.objects.exists()
    assert not (Path(root.uri) / "landing" / "inner").exists()


def test_a_mode_that_delta_refuses_is_refused_as_delta_does(olga, body):
    problem = olga.post("/streams", {**body, "output_mode": "update"}).json()
    assert problem["engine"]["condition"] == "DELTA_UNSUPPORTED_OUTPUT_MODE"


@pytest.mark.parametrize(("mode", "status"), [("permissive", 201), ("FAILFAST", 201), ("lenient", 400)])
def test_what_a_damaged_line_does_is_one_of_sparks_modes(olga, body, mode, status):
    """Spark takes a mode that it doesn't know for PERMISSIVE."""
    body["source"]["options"] = {"mode": mode}
    answer = olga.post("/streams", body)
    assert answer.status_code == status, answer.content
    if status == 400:
        assert "PERMISSIVE" in answer.json()["fields"]["options"]


def test_a_first_batch_that_delta_would_refuse_is_refused_at_creation(olga, body, root):
    sales = lakes.sales_in(root)
    refused = {**body, "target": {"table": str(sales.pk)}, "rename": {"id": "other"}}
    problem = olga.post("/streams", refused).json()
    assert (problem["status"], problem["engine"]["condition"]) == (422, "DELTA_METADATA_MISMATCH")
    assert made(olga, {**refused, "options": {"mergeSchema": True}})["prediction"]["outcome"] == "appends"


def test_names_and_checkpoints_are_taken_once(olga, body, root):
    made(olga, {**body, "checkpoint": f"{root.uri}/checkpoint"})
    again = olga.post("/streams", {**body, "target": {"path": f"{root.uri}/other"}})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")
    shared = {**body, "name": "second", "target": {"path": f"{root.uri}/other"}, "checkpoint": f"{root.uri}/checkpoint"}
    assert olga.post("/streams", shared).json()["code"] == "foreign_checkpoint"
    (Path(root.uri) / "full").mkdir()
    (Path(root.uri) / "full" / "metadata").write_text('{"id": "x"}')
    assert olga.post("/streams", {**shared, "checkpoint": f"{root.uri}/full"}).json()["code"] == "foreign_checkpoint"


def test_a_change_takes_effect_with_the_next_round(olga, body):
    stream = made(olga, body)
    changed = olga.patch(f"/streams/{stream['id']}", {"filter": "id > 5", "trigger": {"interval": "1m"}})
    assert changed.status_code == 200, changed.content
    now = changed.json()
    assert (now["filter"], now["revision"]) == ("id > 5", 2)
    assert now["definition_sha256"] != stream["definition_sha256"]
    assert now["checkpoint"] == stream["checkpoint"]
    assert now["source"] == stream["source"]
    assert Event.objects.get(action="stream.change").before == Event.objects.get(action="stream.create").after


def test_a_count_keeps_the_types_of_its_columns_once_it_has_begun(olga, body):
    """Spark keeps the counts by these types: the next round would fail on its state's key schema."""
    counts = {**body, "aggregate": {"group_by": ["p"], "count_as": "n"}, "output_mode": "complete"}
    stream = made(olga, counts)
    address, wider = (
        f"/streams/{stream['id']}",
        {"source": {**body["source"], "schema": "id BIGINT, p BIGINT, more INT"}},
    )
    assert olga.patch(address, {"cast": {"p": "date"}}).status_code == 200  # nothing has been counted yet
    assert olga.patch(address, {"cast": {}}).status_code == 200
    Stream.objects.update(query_id="q")
    for change in ({"cast": {"p": "date"}}, wider):
        refused = olga.patch(address, change)
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (409, "needs_reset")
        assert "counts by p, whose type would change from string to" in problem["fields"]["aggregate"]
    assert Stream.objects.get().asked["source"] == body["source"]
    assert olga.patch(address, {"cast": {"id": "int"}, "filter": "id > 5"}).status_code == 200  # of no counted column
    assert (
        olga.patch(address, {"rename": {"p": "q"}, "aggregate": {"group_by": ["q"], "count_as": "n"}}).status_code
        == 409
    )


def test_what_a_checkpoint_cant_follow_needs_a_reset(olga, body, root):
    stream = made(olga, body)
    (Path(root.uri) / "more").mkdir()
    moved = {"source": {**body["source"], "path": f"{root.uri}/more"}}
    olga.post(f"/streams/{stream['id']}/run-once")
    assert olga.patch(f"/streams/{stream['id']}", moved).status_code == 200  # no worker has the round: it is cancelled
    Stream.objects.update(query_id="q")
    refused = olga.patch(f"/streams/{stream['id']}", {"source": body["source"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "needs_reset")
    assert olga.patch(f"/streams/{stream['id']}", {"target": {"path": f"{root.uri}/else"}}).status_code == 400
    reset = olga.post(f"/streams/{stream['id']}/reset", {"reason": "another directory"})
    assert (reset.status_code, reset.json()["state"]) == (202, "awaiting_approval")


def test_batches_are_paged_newest_first(olga, body):
    stream = Stream.objects.get(pk=made(olga, body)["id"])
    StreamBatch.objects.bulk_create(
        StreamBatch(
            stream=stream,
            query_id="q",
            batch_id=n,
            output_mode="append",
            at="2026-11-22T10:00:00Z",
            input_rows=n,
            damaged_lines=n - 3 if n > 3 else None,
        )
        for n in range(5)
    )
    first = olga.get(f"/streams/{stream.pk}/batches", limit=2).json()
    assert [row["batch_id"] for row in first["results"]] == [4, 3]
    assert first["results"][0]["num_output_rows"] is None
    assert [row["damaged_lines"] for row in first["results"]] == [1, None]
    second = olga.get(first["next"]).json()
    assert [row["batch_id"] for row in second["results"]] == [2, 1]
    assert olga.get(f"/streams/{stream.pk}").json()["last_batch"]["num_input_rows"] == 4


def test_nothing_of_a_stream_lies_inside_a_table(olga, body, root):
    sales = lakes.sales_in(root)
    partition = next(place for place in Path(sales.path).iterdir() if place.name.startswith("p="))
    for change in (
        {"checkpoint": f"{partition}/checkpoint"},
        {"target": {"path": f"{partition}/new"}},
        {"source": {**body["source"], "path": str(partition)}},
        {"target": {"table": str(sales.pk)}, "source": {**body["source"], "path": str(partition)}},
    ):
        answer = olga.post("/streams", {**body, **change})
        assert answer.status_code in {400, 409}, (change, answer.content)
    assert not (partition / "checkpoint").exists()


def test_a_target_that_the_catalog_doesnt_know_yet_is_judged_as_the_table_that_it_is(olga, body, root):
    small_delta.create(Path(root.uri) / "unknown", [{"id": 1, "p": "a"}])
    into = {**body, "target": {"path": f"{root.uri}/unknown"}, "rename": {"id": "other"}}
    problem = olga.post("/streams", into).json()
    assert problem["engine"]["condition"] == "DELTA_METADATA_MISMATCH"


def test_a_source_may_change_its_options_and_schema_on_its_checkpoint(olga, body, root):
    sales = lakes.sales_in(root)
    stream = made(olga, {**body, "source": {"table": str(sales.pk)}})
    Stream.objects.update(query_id="q")
    changed = olga.patch(f"/streams/{stream['id']}", {"source": {"table": str(sales.pk), "skip_change_commits": True}})
    assert changed.status_code == 200, changed.content


def test_a_table_as_source_by_name_or_id(olga, body, root):
    sales = lakes.sales_in(root)
    source = {"table": str(sales.pk), "starting_version": 0, "skip_change_commits": True}
    stream = made(olga, {**body, "source": source, "options": {"maxFilesPerTrigger": 1}})
    assert stream["source_table"]["id"] == str(sales.pk)
    stored = Stream.objects.get().definition["source"]
    assert (stored["starting_version"], stored["skip_change_commits"], stored["options"]) == (
        0,
        True,
        {"maxFilesPerTrigger": "1"},
    )
    beyond = olga.post("/streams", {**body, "name": "late", "source": {**source, "starting_version": 99}})
    assert (beyond.status_code, "source.starting_version" in beyond.json()["fields"]) == (400, True)


def test_a_source_table_that_was_made_anew_is_refused_at_the_start(olga, body, root):
    sales = lakes.sales_in(root)
    stream = made(olga, {**body, "source": {"table": str(sales.pk)}})
    Stream.objects.update(query_id="q")
    shutil.rmtree(Path(sales.path))
    small_delta.create(Path(sales.path), [{"id": 1, "p": "a"}])
    answer = olga.post(f"/streams/{stream['id']}/start")
    assert (answer.status_code, answer.json()["code"]) == (409, "source_recreated")


def test_a_target_whose_name_leads_elsewhere_by_now_is_refused(olga, body, root):
    """The stream's rounds take the lease of the table that it was made for: another one would be written without its own."""
    sales = lakes.sales_in(root)
    small_delta.create(Path(root.uri) / "other", [{"id": 1, "p": "a"}])
    other = factories.table_in(root, "other")
    Table.objects.filter(pk=sales.pk).update(catalog_name="shop.sales")
    stream = made(olga, {**body, "target": {"table": "shop.sales"}})
    Table.objects.filter(pk=sales.pk).update(catalog_name=None)
    Table.objects.filter(pk=other.pk).update(catalog_name="shop.sales")
    for answer in (
        olga.post(f"/streams/{stream['id']}/start"),
        olga.patch(f"/streams/{stream['id']}", {"filter": "id > 1"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "target_changed")
    assert Stream.objects.get().state == "stopped"


def test_a_source_by_name_is_the_table_that_the_name_leads_to_at_the_first_start(olga, body, root):
    sales = lakes.sales_in(root)
    small_delta.create(Path(root.uri) / "other", [{"id": 1, "p": "a"}])
    other = factories.table_in(root, "other")
    Table.objects.filter(pk=sales.pk).update(catalog_name="shop.sales")
    stream = made(olga, {**body, "source": {"table": "shop.sales"}})
    Table.objects.filter(pk=sales.pk).update(catalog_name=None)
    Table.objects.filter(pk=other.pk).update(catalog_name="shop.sales")
    job = olga.post(f"/streams/{stream['id']}/start").json()
    assert job["parameters"]["definition"]["source"]["path"] == other.path
    assert Stream.objects.get().source_table == other


def test_people_see_and_run_what_their_roles_say(body, root, olga):
    stream = made(olga, body)
    viewer, stranger = caller("viewer"), caller("operator", root=factories.RootFactory(uri="/elsewhere"))
    assert viewer.get("/streams").json()["results"][0]["id"] == stream["id"]
    assert viewer.post(f"/streams/{stream['id']}/start").status_code == 403
    assert viewer.post("/streams", body).status_code == 403
    assert stranger.get(f"/streams/{stream['id']}").status_code == 404
    assert stranger.get("/streams").json()["results"] == []
    refused = stranger.post("/streams", {**body, "name": "mine"})
    assert refused.status_code in {403, 404}


def test_a_delete_names_the_streams_that_would_fail(olga, body, root):
    sales = lakes.sales_in(root)
    made(olga, {**body, "source": {"table": str(sales.pk)}})
    ask = {"table": str(sales.pk), "predicate": "id > 0"}
    assert "fails_stream" not in codes(olga.post("/previews", ask))
    Stream.objects.update(query_id="q")
    job = olga.post("/jobs", {"command": "delete", **ask, "reason": "gone"}).json()
    assert [c["code"] for c in job["preview"]["consequences"]].count("fails_stream") == 1
    Stream.objects.all().delete()
    made(olga, {**body, "source": {"table": str(sales.pk), "skip_change_commits": True}})
    Stream.objects.update(query_id="q")
    other = olga.post("/jobs", {"command": "delete", **ask, "predicate": "id > 1", "reason": "gone"}).json()
    assert "fails_stream" not in [c["code"] for c in other["preview"]["consequences"]]


def codes(answer: Any) -> list[str]:
    return [c["code"] for c in answer.json()["consequences"]]


def test_a_refusal_of_a_field_brings_those_of_the_others_and_nothing_is_made(olga, body, root):
    wrong = {
        **body,
        "source": {**body["source"], "format": "orc", "schema": "id NOTYPE"},
        "options": {"nooption": "1"},
        "trigger": {"interval": "1s"},
        "target": {"path": f"{root.uri}/new"},
    }
    problem = olga.post("/streams", wrong)
    told = problem.json()
    assert (problem.status_code, told["code"]) == (400, "invalid")
    assert set(told["fields"]) == {"options", "source.format", "source.schema", "trigger"}
    assert told["detail"] == told["fields"]["options"]
    assert not Path(root.uri, "new").exists()
    steps = {**body, "cast": {"id": "notype"}, "select": ["nothere"], "target": {"path": f"{root.uri}/new"}}
    assert set(olga.post("/streams", steps).json()["fields"]) == {"cast", "select"}
    assert not Path(root.uri, "new").exists()
    place = olga.post("/streams", {**wrong, "options": {}, "source": {**body["source"], "path": "/elsewhere"}}).json()
    assert (place["code"], "fields" in place) == (
        "outside_roots",
        False,
    )  # as before: a refusal of a place names no field
