"""Requests for rounds that arrive at the same moment: none starts a second query, and a repeated one gets the same job."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job, Stream, StreamRound
from jobs.streams import runs
from tests import factories
from tests.clients import Caller, caller

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
KEY = {"Idempotency-Key": "nightly 7"}


@pytest.fixture
def root(tmp_path: Path) -> Any:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "0.json").write_text(json.dumps({"id": 1, "p": "a"}))
    return factories.root_at(tmp_path)


@pytest.fixture
def olga(root: Any) -> Caller:
    return caller("operator")


@pytest.fixture
def stream(olga: Caller, root: Any) -> str:
    return made(olga, root, "clicks")


def made(olga: Caller, root: Any, name: str) -> str:
    """The id of a new stream."""
    answer = olga.post(
        "/streams",
        {
            "name": name, "reason": "clicks of the shop", "target": {"path": f"{root.uri}/{name}"}, "output_mode": "append",
            "source": {"path": f"{root.uri}/landing", "format": "json", "schema": "id BIGINT, p STRING"}, "trigger": {"interval": "30s"},
        },
    )  # fmt: skip
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


@pytest.fixture
def at_once(olga: Caller, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Posts to two addresses so that both requests are checked before either opens its round."""
    both, check = threading.Barrier(2, timeout=20), runs._check_start

    def checked(*given: Any) -> Any:
        wanted = check(*given)
        both.wait()
        return wanted

    monkeypatch.setattr(runs, "_check_start", checked)

    def ask(address: str, headers: dict[str, str]) -> Any:
        try:
            return Caller(olga.person).post(address, **headers)
        finally:
            connection.close()

    def post(first: str, second: str, headers: dict[str, str]) -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            asked = [pool.submit(ask, address, headers) for address in (first, second)]
        return sorted((each.result() for each in asked), key=lambda answer: int(answer.status_code))

    return post


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [
        ("run-once", "run-once", {"already_open"}),
        ("start", "start", {"wrong_state"}),
    ],
)
def test_two_starters_of_one_query_open_one_round(stream, at_once, first, second, codes):
    done, refused = at_once(f"/streams/{stream}/{first}", f"/streams/{stream}/{second}", {})
    assert (done.status_code, refused.status_code) == (202, 409), (done.content, refused.content)
    assert refused.json()["code"] in codes
    assert Job.objects.count() == StreamRound.objects.filter(booked_at=None).count() == 1
    assert Stream.objects.get().rounds == 1


@pytest.mark.parametrize("act", ["run-once", "start"])
def test_the_same_request_twice_at_once_answers_with_one_job(stream, at_once, act):
    again, first = at_once(f"/streams/{stream}/{act}", f"/streams/{stream}/{act}", KEY)
    assert (again.status_code, first.status_code) == (200, 202), (again.content, first.content)
    assert again.json()["id"] == first.json()["id"]
    assert Job.objects.count() == 1


def test_one_key_for_two_streams_at_once_is_refused_for_one(olga, root, stream, at_once):
    other = made(olga, root, "second")
    done, refused = at_once(f"/streams/{stream}/run-once", f"/streams/{other}/run-once", KEY)
    assert (done.status_code, refused.status_code) == (202, 409), (done.content, refused.content)
    assert refused.json()["code"] == "idempotency_conflict"
    assert Job.objects.count() == 1
