"""PostgreSQL away, for real: every address that asks it for something answers 503 in words, wherever in the request that happens."""

import http
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from django.test import Client

from console.supervisor.home import Home
from console.supervisor.servers import postgres
from jobs.lifecycle.fault_points import FaultPoint, arm
from jobs.models import Job
from tests import factories
from tests.clients import Caller, caller

ADDRESSES = [
    "/",
    "/jobs/",
    "/tables/",
    "/people/",
    "/banners/",
    "/api/v1/tables",
    "/api/v1/jobs",
    "/nowhere/",
]


@pytest.fixture
def signed_in(transactional_db) -> Client:
    """A session, with every database error answered as in a running instance."""
    client = Client(raise_request_exception=False)
    client.force_login(factories.person_with("admin"))
    assert client.get("/jobs/").status_code == http.HTTPStatus.OK
    return client


@pytest.fixture
def away(signed_in: Client, levee_home: Home) -> Iterator[Client]:
    """The server's socket leads nowhere, as while PostgreSQL is started again."""
    default = connections["default"]
    default.close()
    host = default.settings_dict["HOST"]
    default.settings_dict["HOST"] = "/nonexistent"
    yield signed_in
    default.close()
    default.settings_dict["HOST"] = host


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_it_is_503_with_its_page_and_a_hint_when_to_try_again(away: Client, address, method):
    answer = away.generic(method, address)
    assert answer.status_code == http.HTTPStatus.SERVICE_UNAVAILABLE, answer.content
    assert answer["Retry-After"] == "5"
    if address.startswith("/api/"):
        assert answer.json()["code"] == "database_down"
    else:
        assert "The database doesn’t answer" in answer.content.decode()


def test_a_sign_in_meanwhile_is_503(away: Client):
    answer = Client(raise_request_exception=False).post("/sign-in/", {"username": "ada", "password": "x"})
    assert answer.status_code == http.HTTPStatus.SERVICE_UNAVAILABLE


def test_a_token_meanwhile_is_503(away: Client):
    headers = {"Authorization": "Bearer lv_12345678_secret"}
    answer = Client(raise_request_exception=False).get("/api/v1/jobs", headers=headers)
    assert answer.status_code == http.HTTPStatus.SERVICE_UNAVAILABLE


def test_another_fault_is_still_500(signed_in: Client, monkeypatch):
    def broken(*_: object) -> None:
        raise KeyError("nobody thought of it")

    monkeypatch.setattr("jobs.web.jobs.queries.running", broken)
    assert signed_in.get("/").status_code == http.HTTPStatus.INTERNAL_SERVER_ERROR


@pytest.fixture
def cut_after_the_commit(transactional_db, postgres_server: Home) -> Iterator[None]:
    """PostgreSQL ends every session of the application's as soon as a request is on record and its wake-up sent."""

    def cut(reached: str) -> None:
        if reached == FaultPoint.WAKE_SENT:
            with postgres.connect(postgres_server) as superuser:
                superuser.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'levee_app'")

    arm(cut)
    yield
    arm(None)
    connections["default"].close()


def body(path: Path) -> dict[str, str]:
    return {"command": "convert", "path": str(path), "source_format": "parquet", "reason": "why not"}


def broken_off(operator: Caller, path: Path, **headers: str) -> str:
    """What a request is told whose answer was lost."""
    answer = operator.post("/jobs", body(path), **headers)
    assert answer.status_code == http.HTTPStatus.SERVICE_UNAVAILABLE, answer.content
    connections["default"].close()  # as at the end of a request of a running instance
    return str(answer.json()["detail"])


@pytest.fixture
def place(transactional_db, tmp_path: Path) -> Path:
    factories.RootFactory(uri=str(tmp_path))
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "a.parquet").write_bytes(b"PAR1")
    return tmp_path / "orders"


def test_an_answer_lost_after_the_commit_says_only_what_is_known(place, redis_server, cut_after_the_commit):
    operator = caller("operator")
    said = broken_off(operator, place)
    assert "doesn't know" in said
    assert "Nothing was" not in said
    assert Job.objects.filter(location=str(place), requested_by=operator.person).count() == 1


def test_with_a_key_it_says_how_to_ask_again(place, redis_server, cut_after_the_commit):
    operator, key = caller("operator"), {"idempotency-key": "once"}
    assert "Idempotency-Key" in broken_off(operator, place, **key)
    arm(None)
    again = operator.post("/jobs", body(place), **key)
    assert (again.status_code, Job.objects.count()) == (http.HTTPStatus.OK, 1)


def test_looking_meanwhile_speaks_of_no_change(away: Client):
    assert "whether it recorded" not in away.get("/jobs/").content.decode()
