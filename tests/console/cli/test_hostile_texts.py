"""Texts from outside are shown, never obeyed by the terminal (F11): every table and sentence that the program prints of an answer."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from console.cli.commands.audit import _target
from console.cli.words import plain
from tests import factories
from tests.clients import Caller
from tests.console.cli.conftest import run
from tests.console.cli.scripted import Answer, answering
from tests.factories import hostile as hostile_things
from tests.hostile_texts import hostile, hostile_whole

WIDE = "60000"  # columns: a text that is folded would be hard to find again
# Arguments, the API's answers that they lead to, and texts among what is printed.
COMMANDS: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("tables",): (("/tables",), ("table", "raw")),
    ("table", "{table_id}"): (("/tables/{table_id}",), ("table", "description", "value", "property", "column", "owner", "tag")),
    ("history", "{table_id}"): (("/tables/{table_id}/history",), ("user", "operation")),
    ("jobs",): (("/jobs",), ("raw", "job's reason")),
    ("jobs", "show", "{job_id}"): (
        ("/jobs/{job_id}", "/jobs/{job_id}/events"),
        ("job's reason", "decision", "proposed", "conflict text", "stray", "note", "refused", "event", "host"),
    ),
    ("jobs", "watch", "{failed_id}"): (("/jobs/{failed_id}",), ("message", "what to do")),
    ("approve", "{job_id}", "--yes"): (("/jobs/{job_id}", "/jobs/{job_id}"), ("job's reason", "evidence", "remedy")),
    ("streams",): (("/streams",), ("stream", "stream's state", "table")),
    ("streams", "show", "{stream_id}"): (("/streams/{stream_id}",), ("stream's reason", "stream's message", "stream's remedy")),
    ("schedules",): (("/schedules",), ("schedule", "schedule's state", "table", "tag", "root")),
    ("schedules", "show", "{schedule_id}"): (("/schedules/{schedule_id}",), ("schedule's reason", "schedule's state", "table")),
    ("schedules", "runs", "{schedule_id}"): (("/schedules/{schedule_id}/runs",), ("run",)),
    ("preview", "convert", "/lake/x"): (("/reads/{read_id}",), ("proposed", "conflict text", "stray", "note", "refused", "remedy")),
}  # fmt: skip


@pytest.fixture
def person(db: None) -> Any:
    return factories.person_named("ada", "admin", "operator", "auditor", "approver")


@pytest.fixture
def things(tmp_path: Path, person: Any, redis_server: object) -> dict[str, Any]:
    return hostile_things.everything(tmp_path, person)


def obeyed(text: str) -> set[str]:
    """Characters that a terminal would obey, or that nobody sees."""
    return {character for character in text if character != "\n" and not character.isprintable()}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_answer_steers_the_terminal(arguments: tuple[str, ...], person: Any, things: dict[str, Any]) -> None:
    addresses, texts = COMMANDS[arguments]
    api = Caller(person)
    answers = [Answer(body=api.get(address.format(**things)).json()) for address in addresses]
    with answering(*answers) as (url, _):
        environment = {"LEVEE_URL": url, "LEVEE_TOKEN": "t", "COLUMNS": WIDE}
        done = run(*(each.format(**things) for each in arguments), environment=environment)
    printed = done.stdout + done.stderr
    assert obeyed(printed) == set()
    assert [what for what in texts if plain(hostile(what)) not in printed] == []


def test_no_refusal_steers_the_terminal() -> None:
    for problem in (
        {"code": "x", "detail": hostile_whole("detail"), "engine": {"condition": hostile_whole("condition")}},
        {"x": 1},
    ):
        with answering(Answer(409, problem, {"Location": "x"})) as (url, _):
            done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
        assert obeyed(done.output) == set()
    assert done.exit_code != 0


def test_nothing_to_decide_yet_is_said_in_plain_characters(person: Any, things: dict[str, Any]) -> None:
    job = Caller(person).get(f"/jobs/{things['job_id']}").json() | {
        "digest": None,
        "state_text": hostile_whole("state"),
    }
    with answering(Answer(body=job)) as (url, _):
        done = run("approve", job["id"], "--yes", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert plain(hostile_whole("state")) in done.stderr
    assert obeyed(done.output) == set()


def test_an_export_steers_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    text = f"a,{hostile_whole('event')}\r\nb\n".encode()
    for stream in (Terminal(io.BytesIO(), encoding="utf-8"), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")):
        monkeypatch.setattr(sys, "stdout", stream)
        with _target(None) as out:
            for at in range(0, len(text), 7):  # pieces end within characters
                out.write(text[at : at + 7])
        stream.flush()
        written = stream.buffer.getvalue()  # type: ignore[attr-defined]
        assert (written == text) is not stream.isatty()
        if stream.isatty():
            assert obeyed(written.decode()) == set()
            assert plain(hostile_whole("event").partition("\r")[0]) in written.decode()
