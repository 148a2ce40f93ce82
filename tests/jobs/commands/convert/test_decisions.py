"""What a person may decide for: partition names that Spark reads otherwise than their writer meant."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string

from jobs.commands.convert.rules import DECISIONS, Convert, check_convert, decided
from jobs.commands.convert.spark.readings import encoding_refusals, readings
from jobs.commands.registry import command_from_json
from jobs.domain.commands import command_to_json
from jobs.domain.errors import Refusal
from jobs.domain.partition_values import meant
from jobs.domain.results import Inspection
from jobs.engine.walk import MISREAD, WalkFindings, WalkOrder, WorkShare, scan
from jobs.models import Job
from tables.storage.local.tree import LocalReach
from tests import factories
from tests.clients import Caller, browser
from tests.factories.lakes import Lake

ENCODING = Refusal("partition_encoding", "city=M%C3%BCnchen is München in UTF-8", "city=M%C3%BCnchen", "Rename it.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("city=M%C3%BCnchen", "city=München"),
        ("city=%E6%9D%B1%E4%BA%AC", "city=東京"),
        ("stra%C3%9Fe=1", "straße=1"),
        ("city=a%20b", None),
        ("city=x%2Fy", None),
        ("city=100%25", None),
        ("city=%25C3%25BC", None),
        ("city=München", None),
        ("city=M%FCnchen", None),
        ("city=50%", None),
    ],
)
def test_a_name_has_a_second_reading_only_as_escaped_utf_8_beyond_ascii(name: str, text: str | None) -> None:
    assert meant(name) == text


def walked(top: Path, *names: str) -> WalkFindings:
    for name in names:
        Lake(top).write(name)
    return scan([WorkShare(tree="")], WalkOrder(str(top), True, (), LocalReach()))


def test_both_readings_are_shown_with_the_directory_and_refused(tmp_path: Path) -> None:
    found = walked(
        tmp_path, "city=M%C3%BCnchen/day=1", "city=M%C3%BCnchen/day=2", "city=a%20b/day=1", "city=x%2Fy/day=1"
    )
    (reading,) = readings(found)
    assert (reading.directory, reading.spark, reading.utf8) == (
        "city=M%C3%BCnchen/day=1",
        "city=MÃ¼nchen",
        "city=München",
    )
    (refusal,) = encoding_refusals(found)
    assert refusal.code == "partition_encoding"
    assert "city=MÃ¼nchen" in refusal.message
    assert "city=München" in str(refusal.remedy)
    assert encoding_refusals(found, [reading.name]) == []


def test_a_name_above_the_partitions_is_none_of_them(tmp_path: Path) -> None:
    assert readings(walked(tmp_path, "city=M%C3%BCnchen/plain/day=1")) == ()


def test_shares_of_one_directory_tell_its_name_once_and_many_names_are_bounded(tmp_path: Path) -> None:
    whole = walked(tmp_path, *(f"city={n}%C3%BC" for n in range(MISREAD + 2)))
    assert len(readings(whole)) == MISREAD
    assert "or more other names" in encoding_refusals(whole)[0].message
    twice = WalkFindings()
    twice.merge(whole)
    twice.merge(whole)
    assert readings(twice) == readings(whole)


def inspected(*refusals: Refusal) -> Inspection:
    return Inspection.from_json({**factories.inspection("/lake/t"), "refusals": [each.as_json() for each in refusals]})


def test_what_is_accepted_becomes_a_note_and_nothing_else_does() -> None:
    links = Refusal("outside_roots", "x is a link")
    command = Convert("/lake/t", None, "parquet", None, accept=("partition_encoding",))
    seen = decided(command, inspected(ENCODING, links))
    assert (seen.refusals, [note.code for note in seen.notes]) == ((links,), ["partition_encoding"])
    assert decided(replace(command, accept=()), inspected(ENCODING)).refusals == (ENCODING,)


def test_only_a_decision_can_be_accepted_and_an_older_command_accepts_none() -> None:
    command = Convert("/lake/t", None, "parquet", None, accept=("stray_files",))
    assert [refusal.place for refusal in check_convert(command)] == ["accept"]
    stored = {key: value for key, value in command_to_json(command).items() if key != "accept"}
    read = command_from_json("convert", 1, stored)
    assert isinstance(read, Convert)
    assert list(read.accept) == []


def test_an_inspection_stored_before_there_were_readings_is_read() -> None:
    stored = factories.inspection("/lake/t")
    stored.pop("readings", None)
    assert Inspection.from_json(stored).readings == ()


@pytest.fixture
def place(tmp_path: Path, redis_server: Any, no_wakes: Any) -> str:
    Lake(tmp_path).write("orders")
    factories.RootFactory(uri=str(tmp_path))
    return str(tmp_path / "orders")


@pytest.mark.django_db
def test_a_decision_is_stored_with_the_request_and_another_decision_is_another_request(place: str) -> None:
    olga = Caller(factories.person_with("operator"))
    body = {"command": "convert", "path": place, "source_format": "parquet", "reason": "r"}
    assert olga.post("/jobs", body | {"accept": ["stray_files"]}).status_code == 400
    plain = olga.post("/jobs", body, **{"idempotency-key": "a"})
    assert plain.status_code == 201, plain.content
    job = Job.objects.get()
    assert job.parameters["accept"] == []
    other = olga.post("/jobs", body | {"accept": ["partition_encoding"]}, **{"idempotency-key": "a"})
    assert other.status_code == 409


@pytest.mark.django_db
def test_the_page_asks_for_the_decision_and_takes_it(place: str) -> None:
    who = factories.person_with("operator")
    answer = factories.inspection(place) | {"refusals": [ENCODING.as_json()]}
    factories.read(who, question={"path": place}, state="answered", answer=answer)
    client = browser(who)
    shown = client.get("/convert/", {"path": place}).content.decode()
    assert re.search(r'<input[^>]*name="accept" value="partition_encoding"[^>]*required', shown)
    assert "would make CONVERT fail" not in shown
    posted = {"path": place, "reason": "r", "accept": "partition_encoding"}
    assert client.post("/convert/", posted).status_code == 302
    assert Job.objects.get().parameters["accept"] == ["partition_encoding"]


@pytest.mark.parametrize("code", DECISIONS)
def test_the_review_says_what_was_accepted(code: str) -> None:
    job = {"location": "/lake/t", "parameters": {"accept": [code]}}
    assert DECISIONS[code] in render_to_string("jobs/convert/what.html", {"job": job, "preview": {}})
