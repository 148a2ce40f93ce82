"""What the program does on a server's bad days, and what it never does with a token."""

import io
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from console.cli.client import LEAST_S, MOST_PAUSES_S, READ_S, Api, _timeout
from console.cli.exits import CliError, Exit
from console.cli.profiles import ServerProfile, is_loopback
from console.cli.session import Session
from tests import clock
from tests.console.cli.conftest import run
from tests.console.cli.scripted import Answer, answering

NO_TABLES = Answer(body={"results": [], "next": None, "previous": None})
JOB = {"id": "1", "finished_at": None}
WAITING_JOB: dict[str, Any] = {
    "id": "00000000-0000-4000-8000-000000000001", "command": "delete", "table": {"name": "orders", "path": "/lake/orders"},
    "state": "awaiting_approval", "state_text": "Waits for approval.", "finished_at": None, "progress": {"stage": None},
    "requested_by": "olga", "requested_at": "2026-11-01T00:00:00Z", "reason": "Zoë’s ticket",
}  # fmt: skip
JOBS = Answer(body={"results": [WAITING_JOB], "next": None, "previous": None})
EXECUTABLE = Path(__file__).parents[3] / ".venv" / "bin" / "levee"


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the program would have made."""
    made: list[float] = []
    clock.replace(monkeypatch, "console.cli.client", sleep=made.append)
    return made


def api(url: str, notes: list[str] | None = None) -> Api:
    return Api(ServerProfile("here", url, "token"), ([] if notes is None else notes).append)


def problem(status: int, code: str, **more: Any) -> Answer:
    return Answer(status, {"code": code, "detail": f"It is {code}.", **more}, more.pop("headers", {}))


def test_a_busy_server_is_asked_again_when_it_said(pauses):
    busy = Answer(503, {"code": "database_down", "detail": "Away."}, {"Retry-After": "7"})
    with answering(busy, Answer(429, {"code": "too_many_reads", "detail": "Many."}), NO_TABLES) as (url, asked):
        assert api(url).pages("/tables", {}, 10)["results"] == []
    assert len(asked) == 3
    assert pauses == [7.0, 2.0]


def test_one_that_stays_busy_is_left_within_a_minute(pauses):
    busy = Answer(503, {"code": "database_down", "detail": "The database is away."}, {"Retry-After": "25"})
    with answering(*[busy] * 9) as (url, asked), pytest.raises(CliError, match=r"away\. \[database_down\]") as refused:
        api(url).get("/tables")
    assert refused.value.exit_code == Exit.UNREACHABLE
    assert sum(pauses) <= MOST_PAUSES_S
    assert len(asked) == 3


def test_a_server_that_names_no_pause_gets_some(pauses):
    busy = Answer(503, {"code": "database_down", "detail": "Away."}, {"Retry-After": "0"})
    with answering(*[busy] * 9) as (url, asked), pytest.raises(CliError, match="Away"):
        api(url).get("/tables")
    assert (pauses, len(asked)) == ([1.0, 2.0, 4.0, 8.0, 16.0, 16.0], 7)


def test_the_time_of_a_wait_holds_while_the_server_is_silent(monkeypatch):
    monkeypatch.setattr("console.cli.client.LEAST_S", 0.05)
    job = "00000000-0000-4000-8000-000000000001"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        done = run("wait", job, "--timeout", "0.2s", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert (done.exit_code, "time is over" in done.stderr) == (Exit.TIMED_OUT, True)


def test_a_wait_whose_time_ends_says_where_the_job_stands():
    with answering(Answer(body=WAITING_JOB), Answer(body=WAITING_JOB)) as (url, _):
        done = run("wait", WAITING_JOB["id"], "--timeout", "0.3s", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert done.exit_code == Exit.TIMED_OUT
    assert "The job is awaiting approval after 0.3 s, and goes on." in done.stderr


def test_a_request_outlasts_what_the_server_holds_it():
    """The server holds the last question of a wait for all of the time that is left, and its answer needs some more."""
    for left in (0.3, 4.0, 40.0):
        assert _timeout(left, time.monotonic() + left).read == left + LEAST_S
    assert _timeout(20.0, None).read == READ_S + 20


def test_a_pause_of_a_wait_ends_with_its_time(pauses):
    busy = Answer(503, {"code": "database_down", "detail": "Away."}, {"Retry-After": "30"})
    with answering(busy, NO_TABLES, busy) as (url, _):
        api(url).get("/tables", end=time.monotonic() + 25)
        with pytest.raises(CliError) as ended:
            api(url).get("/tables", end=time.monotonic())
    assert ended.value.exit_code == Exit.TIMED_OUT
    assert (len(pauses), 0 < pauses[0] <= 25) == (1, True)


def test_a_lost_answer_is_asked_for_again_with_the_same_key(pauses):
    with answering(Answer(lost=True), Answer(502, "<html>"), Answer(201, JOB)) as (url, asked):
        assert api(url).post("/jobs", {"command": "delete"}, key="k-1") == JOB
    assert [(one.key, one.body) for one in asked] == [("k-1", {"command": "delete"})] * 3


def test_what_may_not_be_asked_twice_is_not(pauses):
    with (
        answering(Answer(lost=True), Answer(200, JOB)) as (url, asked),
        pytest.raises(CliError, match="may have acted"),
    ):
        api(url).post("/jobs/1/approve", {"digest": "d"})
    assert (len(asked), pauses) == (1, [])


def test_every_request_for_a_job_has_a_key(pauses):
    table = "00000000-0000-4000-8000-000000000001"
    refusal = Answer(409, {"code": "already_open", "detail": "Open.", "job": "j-1"})
    with answering(refusal, refusal, refusal) as (url, asked):
        environment = {"LEVEE_URL": url, "LEVEE_TOKEN": "t"}
        for more in ([], [], ["--idempotency-key", "mine"]):
            done = run("delete", table, "--whole-table", "--reason", "r", *more, environment=environment)
            assert done.exit_code == Exit.REFUSED
            assert done.stderr == "levee: Open. Look at it: levee jobs show j-1. [already_open]\n"
            assert done.stdout == ""
    keys = [one.key for one in asked]
    assert len({*keys, None}) == 4
    assert keys[2] == "mine"
    assert asked[0].body == {"command": "delete", "table": table, "predicate": None, "reason": "r"}


def test_a_token_goes_to_no_other_address(pauses):
    """Neither after a redirect nor to the next page of a list."""
    with answering(NO_TABLES) as (elsewhere, asked_there):
        away = Answer(301, {}, {"Location": f"{elsewhere}/api/v1/tables"})
        first = Answer(body={"results": [1], "next": f"{elsewhere}/api/v1/tables?cursor=c2", "previous": None})
        with answering(away, first, NO_TABLES) as (url, asked):
            with pytest.raises(CliError, match="redirects to") as refused:
                api(url).get("/tables")
            api(url).pages("/tables", {"q": "x"}, None)
        assert asked_there == []
    assert refused.value.exit_code == Exit.UNREACHABLE
    assert "cursor=c2" in asked[-1].path
    assert "q=x" in asked[-1].path


def test_a_list_has_as_many_rows_as_were_asked_for():
    full = Answer(body={"results": list(range(500)), "next": "http://x/?cursor=b", "previous": None})
    rest = Answer(body={"results": [1] * 20, "next": "http://x/?cursor=c", "previous": None})
    with answering(full, rest) as (url, asked):
        page = api(url).pages("/jobs", {}, 520)
    assert len(page["results"]) == 520
    assert page["next"]
    assert ["limit=500" in asked[0].path, "limit=20" in asked[1].path] == [True, True]


def test_a_server_that_is_not_there_is_one_line_and_an_exit_code(pauses):
    with answering() as (gone, _):
        pass
    done = run("tables", environment={"LEVEE_URL": gone, "LEVEE_TOKEN": "t"})
    assert done.exit_code == Exit.UNREACHABLE
    assert done.stderr.splitlines()[-1].startswith(f"levee: {gone} can't be reached")
    assert len(pauses) == 3


def test_an_answer_that_is_not_levees_is_said_to_be_none(pauses):
    with answering(Answer(404, "<html>nothing here</html>"), Answer(raw="<html>Welcome")) as (url, _):
        for code in (Exit.NOT_FOUND, Exit.UNREACHABLE):
            done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
            assert (done.exit_code, "not as Levee answers" in done.stderr) == (code, True)


def test_an_answer_of_another_shape_is_no_failed_job():
    with answering(Answer(body=["else"]), Answer(body={"tables": []})) as (url, _):
        for _again in range(2):
            done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
            assert (done.exit_code, len(done.stderr.splitlines())) == (Exit.BROKEN, 1)


def test_an_output_that_takes_nothing_is_no_failed_job():
    """Neither one that its reader has closed nor one on a full disk."""
    reading, closed = os.pipe()
    os.close(reading)
    with answering(Answer(200, {"event": 1})) as (url, _), open("/dev/full", "wb") as full, open(closed, "wb") as left:
        environment = {**os.environ, "LEVEE_URL": url, "LEVEE_TOKEN": "t"}
        for args, out, code, lines in (
            (["--help"], left, Exit.PIPE_CLOSED, 0),  # written by click while it reads the arguments
            (["servers"], left, Exit.PIPE_CLOSED, 0),  # by Rich
            (["completion", "bash"], left, Exit.PIPE_CLOSED, 0),
            (["audit", "export"], full, Exit.BROKEN, 1),
        ):
            done = subprocess.run([EXECUTABLE, *args], env=environment, stdout=out, stderr=subprocess.PIPE, timeout=300)
            assert (done.returncode, len(done.stderr.splitlines())) == (code, lines), (args, done.stderr)


def test_a_stream_that_was_closed_before_the_start_fails_no_job():
    with answering(JOBS, JOBS) as (url, _):
        environment = {**os.environ, "LEVEE_URL": url, "LEVEE_TOKEN": "t"}
        for closed in (">&-", "2>&-", "<&- >&- 2>&-"):
            shell = ["sh", "-c", f'"$0" servers {closed}', str(EXECUTABLE)]
            done = subprocess.run(shell, env=environment, capture_output=True, timeout=60)
            assert (done.returncode, b"Traceback" in done.stderr) == (0, False), (closed, done.stderr)


def test_an_output_in_another_encoding_fails_no_job():
    with answering(JOBS, JOBS) as (url, _):
        environment = {**os.environ, "LEVEE_URL": url, "LEVEE_TOKEN": "t", "PYTHONIOENCODING": "latin-1"}
        done, as_json = (
            subprocess.run([EXECUTABLE, "jobs", *more], env=environment, capture_output=True, timeout=60)
            for more in ([], ["--json"])
        )
    assert (done.returncode, "Zoë?s ticket" in done.stdout.decode("latin-1")) == (0, True), done.stderr
    assert json.loads(as_json.stdout)["results"][0]["reason"] == "Zoë’s ticket"
    assert as_json.stdout.isascii()


@pytest.mark.parametrize("columns", ["wide", "0", "", "-5"])
def test_a_width_that_is_none_is_not_heeded(columns):
    with answering(JOBS) as (url, _):
        done = run("jobs", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t", "COLUMNS": columns})
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 2)
    assert WAITING_JOB["id"] in done.stdout


def test_a_narrow_list_cuts_nothing():
    with answering(JOBS, JOBS) as (url, _):
        wide, narrow = (
            run("jobs", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t", "COLUMNS": columns}).stdout
            for columns in ("160", "80")
        )
    assert len(wide.splitlines()) == 2
    values = (WAITING_JOB["id"], "delete", "orders", "awaiting approval", "olga", "2026-11-01 00:00", "Zoë’s ticket")
    assert [line.rstrip().endswith(value) for line, value in zip(narrow.splitlines(), values, strict=True)] == [
        True
    ] * 7


def test_an_empty_key_is_wrong_use():
    """No request would carry it, and a repeated one could do it twice."""
    with answering() as (url, asked):
        environment = {"LEVEE_URL": url, "LEVEE_TOKEN": "t"}
        words = ("delete", WAITING_JOB["id"], "--whole-table", "--reason", "r", "--idempotency-key", "")
        assert run(*words, environment=environment).exit_code == Exit.USAGE
    assert asked == []


def test_what_the_engine_says_is_in_the_line():
    engine = {"condition": "DELTA_CANNOT_MODIFY_APPEND_ONLY", "sqlstate": "42809", "message": "…"}
    with answering(problem(422, "append_only", engine=engine)) as (url, _):
        done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert done.stderr == "levee: It is append_only. [append_only; DELTA_CANNOT_MODIFY_APPEND_ONLY]\n"
    assert done.exit_code == Exit.REFUSED


def test_later_commits_are_named_as_options():
    commits = [{"version": 14}, {"version": 13}]
    with answering(problem(409, "later_commits", commits=commits)) as (url, _):
        done = run(
            "undo",
            "00000000-0000-4000-8000-000000000001",
            "--reason",
            "r",
            environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"},
        )
    assert "--accept-commit 14 --accept-commit 13" in done.stderr


def test_an_export_that_breaks_off_leaves_no_file(tmp_path):
    broken = Answer(200, {"event": 1}, {"Content-Length": "5000"})
    target = tmp_path / "audit.jsonl"
    with answering(broken) as (url, _):
        done = run("audit", "export", "-o", str(target), environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert done.exit_code == Exit.UNREACHABLE
    assert [file.name for file in tmp_path.iterdir() if "audit" in file.name] == []


def test_an_export_into_a_pipe_or_through_a_link_replaces_neither(tmp_path):
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    file.write_text("old")
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with answering(*[Answer(200, {"event": 1})] * 2) as (url, _):
        for target in (pipe, link):
            done = run("audit", "export", "-o", str(target), environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
            assert done.exit_code == Exit.DONE
    assert (os.read(reading, 100), file.read_text()) == (b'{"event": 1}', '{"event": 1}')
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)
    os.close(reading)


def test_a_token_in_clear_text_over_a_network_is_warned_of():
    notes: list[str] = []
    for url in ("http://127.0.0.1:8000", "http://localhost", "https://levee.example.org", "http://[::1]:80"):
        _ = api(url, notes).http
    assert notes == []
    _ = api("http://levee.example.org", notes).http
    assert "isn't encrypted" in notes[0]
    assert not is_loopback("localhost.example.org")


def test_a_token_that_no_request_carries_is_never_printed(pauses, nobody_signed_in):
    with answering() as (url, asked):
        for token in ("lv_secret\nhalf", "lv_secret\N{LEFT DOUBLE QUOTATION MARK}"):
            done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": token})
            assert (done.exit_code, "secret" in done.output) == (Exit.NOT_ALLOWED, False)
            nobody_signed_in.parent.mkdir(parents=True, exist_ok=True)
            kept = {"current": "here", "servers": {"here": {"url": url, "token": token}}}
            nobody_signed_in.write_text(json.dumps(kept))
            for environment in ({}, {"LEVEE_URL": url}, {"LEVEE_SERVER": "here"}):
                done = run("tables", environment=environment)
                assert (done.exit_code, "secret" in done.output) == (Exit.NOT_ALLOWED, False)
            with pytest.raises(CliError, match="can't be sent") as unsent:
                Api(ServerProfile("here", url, "token"), print).post("/jobs", {}, key=token)
            assert (unsent.value.exit_code, "secret" in unsent.value.message) == (Exit.USAGE, False)
    assert (asked, pauses) == ([], [])


def test_json_cannot_steer_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stdout", stream)
        Session(as_json=True).show({"name": "\x9b2Jorders\u202e"}, str)
        assert json.loads(stream.getvalue()) == {"name": "\x9b2Jorders\u202e"}
        assert stream.getvalue().isascii() is stream.isatty()


def test_names_cannot_steer_the_terminal():
    evil = "\x1b[2J\x1b]0;x\x07or\u202eders\n[red]"
    row: dict[str, Any] = {
        "name": evil, "catalog_name": None, "format": "delta", "version": 1, "num_records": None, "size_bytes": 5,
        "last_commit_at": None, "health_codes": [], "path": "/lake/x",
    }  # fmt: skip
    page = Answer(body={"results": [row], "next": None, "previous": None})
    with answering(page, page) as (url, _):
        done = run("tables", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
        as_json = run("tables", "--json", environment={"LEVEE_URL": url, "LEVEE_TOKEN": "t"})
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)
    assert "[red]" in done.stdout
    assert len(done.stdout.splitlines()) == 2
    assert json.loads(as_json.stdout)["results"][0]["name"] == evil
