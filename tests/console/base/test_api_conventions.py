"""What is true of every call of `/api/v1/`."""

import json
import uuid

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from console.audit.models import Event
from tests import factories
from tests.clients import Caller, browser, caller

pytestmark = pytest.mark.django_db


def problem(answer, status, code):
    assert answer.status_code == status, answer.content
    assert answer["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["detail"]
    return body


def send(client, method, path, body=b"", kind="application/json", **headers):
    return client.generic(method, path, body, content_type=kind, headers=headers)


def test_without_a_token_it_is_401():
    answer = Client().get("/api/v1/jobs")
    problem(answer, 401, "not_authenticated")
    assert answer["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer lv_00000000_x", "Bearer", "Bearer x", "Basic YTpi", "lv_x"])
def test_a_wrong_token_is_401(header):
    problem(Client().get("/api/v1/jobs", headers={"authorization": header}), 401, "not_authenticated")


@pytest.mark.parametrize("change", ["revoked", "expired", "inactive"])
def test_a_token_ends_at_once(change):
    holder = caller("viewer")
    assert holder.get("/jobs").status_code == 200
    if change == "inactive":
        holder.person.is_active = False
        holder.person.save()
    else:
        holder.person.tokens.update(**{"revoked_at" if change == "revoked" else "expires_at": "2020-01-01T00:00:00Z"})
    problem(holder.get("/jobs"), 401, "not_authenticated")


def test_an_unknown_address_is_404_as_a_problem():
    problem(Client().get("/api/v1/nothing"), 404, "not_found")
    problem(caller("viewer").get(f"/jobs/{uuid.uuid4()}"), 404, "not_found")
    problem(caller("viewer").get("/jobs/7"), 404, "not_found")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_another_method_is_405(method):
    viewer = caller("viewer", "read")
    answer = send(viewer.client, method, "/api/v1/jobs", b"{}")
    problem(answer, 405, "method_not_allowed")
    assert answer["allow"] == "GET, POST, HEAD, OPTIONS"


def test_head_and_options_ask_what_get_asks():
    assert caller("viewer").client.head("/api/v1/jobs").status_code == 200
    assert caller("viewer").client.options("/api/v1/jobs").status_code == 200
    assert Client().head("/api/v1/jobs").status_code == 401
    assert caller("viewer").client.head("/api/v1/workers").status_code == 403


def test_another_type_of_body_is_415():
    answer = send(
        caller("operator").client, "POST", "/api/v1/jobs", b"command=convert", "application/x-www-form-urlencoded"
    )
    problem(answer, 415, "unsupported_media_type")


def test_a_form_with_a_file_over_one_mebibyte_is_413_before_it_is_stored(client, monkeypatch):
    def store(*_):
        raise AssertionError("stored")

    monkeypatch.setattr("django.core.files.uploadhandler.TemporaryFileUploadHandler.new_file", store)
    monkeypatch.setattr("django.core.files.uploadhandler.MemoryFileUploadHandler.new_file", store)
    file = SimpleUploadedFile("a.bin", b"x" * (1024 * 1024 + 1))
    assert client.post("/sign-in/", {"username": "a", "password": "b", "file": file}).status_code == 413


def test_a_body_over_one_mebibyte_is_413():
    body = json.dumps({"command": "convert", "reason": "x" * 1024 * 1024}).encode()
    problem(send(caller("operator").client, "POST", "/api/v1/jobs", body), 413, "too_large")


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[1", b"nope", b'"', b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"\\ud800": 1}',
        b"\xff", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_is_400(body):
    problem(send(caller("operator").client, "POST", "/api/v1/jobs", body), 400, "malformed")


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null", b'{"command": {}}', b'{"command": []}', b"{}"])
def test_a_body_that_is_no_command_is_400(body):
    problem(send(caller("operator").client, "POST", "/api/v1/jobs", body), 400, "invalid")


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_a_text_that_the_database_can_not_hold_is_400(text):
    body = {"command": "convert", "path": text, "source_format": "parquet", "reason": "x"}
    problem(caller("operator").post("/jobs", body), 400, "invalid")


def test_a_session_works_with_its_csrf_token_alone():
    client = Client(enforce_csrf_checks=True)
    person = factories.person_with("admin")
    client.force_login(person)
    assert client.get("/api/v1/jobs").status_code == 200
    answer = send(client, "POST", "/api/v1/people", b'{"name": "eve"}')
    assert "CSRF" in problem(answer, 403, "forbidden")["detail"]


def test_a_first_password_must_be_changed_before_the_api_answers_a_browser():
    person = factories.person_with("admin")
    person.must_change_password = True
    person.save()
    assert "password" in problem(browser(person).get("/api/v1/jobs"), 403, "forbidden")["detail"]
    assert Caller(person).get("/jobs").status_code == 200


def test_an_audit_that_can_not_be_written_stops_every_change(monkeypatch):
    from django.db import DatabaseError

    def broken(*_args, **_kwargs):
        raise DatabaseError("the audit is read-only")

    admin = caller("admin")
    monkeypatch.setattr(Event, "save", broken)
    problem(admin.post("/people", {"name": "eve"}), 503, "audit_unavailable")
    problem(admin.post("/tokens", {"label": "x"}), 503, "audit_unavailable")
    from console.accounts.models import Person, Token

    assert not Person.objects.filter(name="eve").exists()
    assert Token.objects.count() == 1
