"""Requests and their reviews through the real application, with a worker that needs no Spark."""

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now

from console.accounts.roles import Role
from console.audit.actor import Actor
from console.cli.exits import Exit
from console.cli.following import exit_of, has_ended
from console.cli.reviews import review
from jobs.approvals import decisions
from jobs.domain.states import State
from jobs.models import Job, Read, Schedule
from jobs.reads import queue
from tables.models import Table
from tests import factories
from tests.clients import Caller
from tests.console.cli.conftest import Somebody, run

EXECUTABLE = Path(__file__).parents[3] / ".venv" / "bin" / "levee"


def asked(olga, sales: str, where: str = "p = 'FR'", *more: str) -> str:
    done = olga("delete", sales, "--where", where, "--reason", "too old", "--id", *more)
    assert done.exit_code == 0, done.stderr
    return str(done.stdout.strip())


def test_a_delete_from_its_preview_to_its_undo(olga, anna, sales, worker):
    preview = json.loads(olga("preview", "delete", "sales", "--where", "p = 'FR'", "--json").stdout)
    assert (preview["rows_matched"], preview["files_matched"]) == (5, 1)
    done = olga("delete", "sales", "--where", "p = 'FR'", "--reason", "too old", "--idempotency-key", "k", "--json")
    job = json.loads(done.stdout)
    assert "Wait for its end: levee wait" in done.stderr
    assert asked(olga, sales, "p = 'FR'", "--idempotency-key", "k") == job["id"]
    worker()
    waits = olga("wait", job["id"], "--timeout", "0")
    assert (waits.exit_code, waits.stdout) == (Exit.TIMED_OUT, "")
    assert "awaiting approval" in waits.stderr

    approved = anna("approve", job["id"], "--yes", "--comment", "fine", "--json")
    assert approved.exit_code == 0, approved.stderr
    digest = json.loads(approved.stdout)["digest"]
    for shown in (digest, f"({sales})", "Predicate", "Rows matched         5", "Consequence", "too old"):
        assert shown in approved.stderr, approved.stderr
    assert olga("wait", job["id"], "--for", "approved").exit_code == Exit.DONE
    worker()
    ended = olga("jobs", "watch", job["id"])
    assert ended.exit_code == Exit.DONE
    assert "Committed as version 1." in ended.stdout

    history = json.loads(olga("history", sales, "--operation", "DELETE", "--json").stdout)["results"]
    assert [row["job"] for row in history] == [job["id"]]
    between = json.loads(olga("preview", "restore", sales, "0", "--json").stdout)
    assert (between["restorable"], between["commits"]["count"]) == (True, 1)
    undo = json.loads(olga("undo", job["id"], "--reason", "wrong customer", "--json").stdout)
    assert (undo["command"], undo["parameters"]["version"]) == ("restore", 0)
    assert olga("jobs", "cancel", undo["id"]).exit_code == 0
    assert olga("wait", undo["id"]).exit_code == Exit.NOT_RUN
    restored = json.loads(olga("restore", "sales", "0", "--reason", "as it was", "--json").stdout)
    assert (restored["command"], restored["parameters"]["version"], restored["reason"]) == ("restore", 0, "as it was")


def test_a_job_is_named_by_the_short_id_that_pages_show(olga, anna, sales, worker):
    job = asked(olga, sales)
    short = job[:8]
    worker()
    assert json.loads(olga("jobs", "show", short, "--json").stdout)["id"] == job
    assert json.loads(olga("jobs", "show", job[:13].upper(), "--json").stdout)["id"] == job
    assert json.loads(olga("jobs", "show", job.replace("-", ""), "--json").stdout)["id"] == job
    assert olga("wait", short, "--timeout", "0").exit_code == Exit.TIMED_OUT
    assert anna("approve", short, "--yes").exit_code == 0
    worker()
    assert olga("jobs", "watch", short).exit_code == Exit.DONE
    undo = json.loads(olga("undo", short, "--reason", "wrong customer", "--json").stdout)["id"]
    worker()
    assert anna("reject", undo[:8], "--reason", "no").exit_code == 0
    other = asked(olga, sales, "p = 'DE'")
    assert olga("jobs", "cancel", other[:8]).exit_code == 0


@pytest.mark.parametrize("act", [["jobs", "show"], ["jobs", "watch"], ["jobs", "cancel"], ["wait"], ["approve"]])
def test_an_id_that_fits_no_job_or_several_is_named(olga, sales, act):
    none = olga(*act, "00000000")
    assert (none.exit_code, "No job’s id begins with 00000000" in none.stderr) == (Exit.NOT_FOUND, True)
    for text in ("orders", "3582c17", "3582c178g", "x" * 40):
        wrong = olga(*act, text)
        assert (wrong.exit_code, "is no job’s id" in wrong.stderr) == (Exit.USAGE, True)
    table = Table.objects.get(path=sales)
    both = [
        factories.job(table=table, pk=uuid.UUID(f"aaaaaaaa-0000-4000-8000-00000000000{n}"), parameters={"n": n})
        for n in (1, 2)
    ]
    several = olga(*act, "aaaaaaaa")
    assert several.exit_code == Exit.NOT_FOUND
    assert all(str(job.pk) in several.stderr for job in both)


def test_who_may_not_approve_is_told_why(olga, anna, sales, worker):
    job = asked(olga, sales)
    assert anna("approve", job, "--yes").exit_code == Exit.REFUSED  # nothing to decide on yet
    worker()
    own = olga("approve", job, "--yes")
    assert (own.exit_code, "[not_your_own]" in own.stderr) == (Exit.NOT_ALLOWED, True)
    asks = anna("approve", job)
    assert (asks.exit_code, "Give --yes" in asks.stderr) == (Exit.USAGE, True)
    without_scope = run(
        "approve", job, "--yes",
        environment={**anna.environment, "LEVEE_TOKEN": factories.token_text(anna.person, "read", "request")},
    )  # fmt: skip
    assert without_scope.exit_code == Exit.NOT_ALLOWED
    assert "approve" in without_scope.stderr.splitlines()[-1]
    assert Job.objects.get(pk=job).state == State.AWAITING_APPROVAL


def test_an_approval_holds_for_what_was_shown_alone(olga, anna, sales, worker, monkeypatch):
    job = asked(olga, sales)
    worker()
    other = anna("approve", job, "--yes", "--digest", "0" * 64)
    assert (other.exit_code, "[stale]" in other.stderr) == (Exit.REFUSED, True)

    def edited_meanwhile(yes: bool, question: str) -> None:
        edit = {"predicate": "p = 'DE'"}
        decisions.edit(Actor.acting_for(olga.person), Job.objects.get(pk=job), edit, "others")
        worker()

    monkeypatch.setattr("console.cli.commands.decisions.ask", edited_meanwhile)
    late = anna("approve", job)
    assert (late.exit_code, "[stale]" in late.stderr) == (Exit.REFUSED, True)
    assert Job.objects.get(pk=job).state == State.AWAITING_APPROVAL


def test_a_failed_job_ends_a_wait_with_1_and_says_what_to_do(olga, sales):
    failed = factories.job(State.FAILED)
    done = olga("wait", str(failed.pk))
    assert done.exit_code == Exit.FAILED
    assert "Request it again." in done.stdout
    assert olga("jobs", "--state", "failed", "--json").stdout.count(str(failed.pk)) == 1
    assert olga("wait", "00000000-0000-4000-8000-000000000000").exit_code == Exit.NOT_FOUND
    assert olga("wait", "../tables").exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("state", "code"),
    [(State.STALE, 7), (State.EXPIRED, 7), (State.WITHDRAWN, 7), (State.REJECTED, 3), (State.SUCCEEDED, 0)],
)
def test_each_end_has_its_code(state, code):
    assert exit_of({"state": str(state), "finished_at": "2026-11-23T07:00:00Z"}, has_ended) == code


def test_a_review_leaves_out_nothing_of_what_an_approval_stands_for():
    commits = [{"version": 1000 + n, "operation": "WRITE", "committed_at": None, "by": "etl"} for n in range(25)]
    changes = [{"kind": "dropped", "column": "vat", "before": "double", "after": None}]
    preview = {
        "class": "whole_table", "to_version": 1000, "rows_back": None, "rows_exact": False, "rows_hash": "x",
        "commits_undone": commits, "missing_files": ["/lake/a.parquet"], "schema_changes": changes, "property_changes": [],
        "consequences": [{"code": "c", "text": "It is so."}], "notes": ["Levee estimates.", {"code": "n", "text": "Rows vary."}],
    }  # fmt: skip
    job: dict[str, Any] = {
        "id": "1", "command": "restore", "table": {"name": "sales", "path": "/lake/sales"}, "parameters": {"version": 1000},
        "requested_by": "olga", "requested_at": None, "reason": "r", "state_text": "s", "drift": None, "approvals": [],
        "policy": {"required_approvals": 0}, "preview": preview, "digest": "d",
    }  # fmt: skip
    said = review(job)
    for pair in [
        ("Rows back", "–"), ("Rows exact", "no"), ("Commits undone", "25"), ("Missing files", "1"), ("", "/lake/a.parquet"),
        ("Schema changes", "1"), ("", "kind: dropped, column: vat, before: double, after: –"), ("Property changes", "none"),
        ("", "version: 1019, operation: WRITE, committed at: –, by: etl"), ("", "and 5 more: see --json"),
        ("Consequence", "It is so."), ("Note", "Levee estimates."), ("Note", "Rows vary."), ("To version", "1000"),
    ]:  # fmt: skip
        assert pair in said
    assert not [value for _, value in said if "1020" in value]


def test_a_review_names_properties_and_columns_as_they_are_called():
    """An approver decides on these words: a name in other letters is another name."""
    constraint = {"name": "n_Positive", "expression": "n > 0", "tree": {"op": ">"}}
    job: dict[str, Any] = {
        "id": "1", "command": "set_properties", "table": {"name": "sales", "path": "/lake/sales"}, "requested_by": "olga",
        "requested_at": None, "reason": "r", "state_text": "s", "drift": None, "approvals": [], "digest": "d",
        "policy": {"required_approvals": 0}, "preview": {"kept": {"delta.appendOnly": "true", "rows_in": 1000}},
        "parameters": {
            "set": {"delta.enableChangeDataFeed": "true", "my_Prop": "1,5"}, "unset": ["a_B"], "none": {},
            "changes": [{"add": {"path": "a.b_C", "type": "bigint"}}, {"add_constraint": constraint}, {"cluster_by": ["n", "m"]}],
        },
    }  # fmt: skip
    said = review(job)
    for pair in [
        ("Set", "delta.enableChangeDataFeed: true, my_Prop: 1,5"), ("Unset", "a_B"), ("Changes", "add: path: a.b_C, type: bigint"),
        ("", "add_constraint: name: n_Positive, expression: n > 0"), ("", "cluster_by: n, m"),
        ("Kept", "delta.appendOnly: true, rows in: 1,000"),
    ]:  # fmt: skip
        assert pair in said
    assert "None" not in [name for name, _ in said]


def test_an_optimize_is_requested_with_all_that_it_takes(olga, sales):
    by_partition = olga("optimize", sales, "--zorder-by", "p", "--reason", "slow look-ups")
    assert (by_partition.exit_code, "DELTA_" in by_partition.stderr) == (Exit.REFUSED, True), by_partition.stderr
    done = olga("optimize", "sales", "--where", "p = 'FR'", "--reason", "small files", "--json")
    made = json.loads(done.stdout)
    assert (made["command"], made["parameters"]["predicate"]) == ("optimize", "p = 'FR'")


def test_tables_are_found_by_name_path_and_id(olga, sales, lake):
    overview = json.loads(olga("table", "sales", "--json").stdout)
    assert overview == json.loads(olga("table", sales, "--json").stdout)
    assert overview == json.loads(olga("table", overview["id"], "--json").stdout)
    assert overview == json.loads(olga("table", f"file:{sales}/", "--json").stdout)
    listed = olga("tables", "sal", "--format", "delta", "--root", lake.name)
    assert "/lake/sales" in listed.stdout  # its end, however long the path is
    assert "\x1b" not in listed.stdout
    assert "Nothing found." in olga("tables", "nosuch").stderr
    assert olga("table", "nosuch").exit_code == Exit.NOT_FOUND


def test_a_favourite_is_marked_listed_and_removed(olga, anna, sales):
    assert (olga("favourite", "sales").stdout, olga("favourite", "sales", "--json").exit_code) == (
        "A favourite of yours.\n",
        0,
    )
    listed = json.loads(olga("tables", "--favourite", "--json").stdout)["results"]
    assert [row["path"] for row in listed] == [sales]
    assert json.loads(anna("tables", "--favourite", "--json").stdout)["results"] == []
    assert json.loads(olga("favourite", sales, "--remove", "--json").stdout) == {"favourite": False}
    assert json.loads(olga("tables", "--favourite", "--json").stdout)["results"] == []


def test_a_conversion_says_its_partitions_on_purpose(olga, lake):
    place = factories.table_in(lake, "raw").path
    assert olga("convert", place, "--reason", "r").exit_code == Exit.USAGE
    assert olga("delete", place, "--reason", "r").exit_code == Exit.USAGE
    made = json.loads(
        olga("convert", place, "--partitioned-by", "day date", "--no-stats", "--reason", "r", "--json").stdout
    )
    assert made["command"] == "convert"
    assert made["parameters"]["partition_schema"] == "day date"
    assert made["parameters"]["collect_stats"] is False


DAY: dict[str, Any] = {
    "name": "day", "proposed_type": "date", "evidence": "all 2 values are dates", "distinct": 2, "nulls": 0,
    "examples": ["2026-10-01"],
}  # fmt: skip
DECLARED = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "day", "type": "string", "nullable": True, "metadata": {}},
    ],
}


@pytest.fixture
def answers(monkeypatch):
    """As if a worker had answered an inspection by the time the program comes for it."""
    asks = queue.ask

    def answered(*question: Any) -> Read:
        read = asks(*question)
        answer = {**factories.inspection(read.question["path"]), "partition_columns": [DAY]}
        Read.objects.filter(pk=read.pk).update(state=Read.State.ANSWERED, answer=answer, answered_at=Now())
        return read

    monkeypatch.setattr(queue, "ask", answered)


@pytest.fixture
def named(olga, lake):
    """Puts a directory of parquet files into the catalog under a name, with what it declares; the directory."""

    def give(name: str, directory: str = "events", **declared: Any) -> str:
        place = Path(lake.uri) / directory / "day=2026-10-01"
        place.mkdir(parents=True)
        (place / "a.parquet").write_bytes(b"PAR1")
        body = {"name": name, "path": str(place.parent), "source_format": "parquet", **declared}
        answer = Caller(olga.person).post("/tables", body)
        assert answer.status_code == 201, answer.content
        return str(place.parent)

    return give


def words_of(done: Any) -> str:
    assert done.exit_code == 0, done.stderr
    return " ".join(done.stdout.split())


def test_a_preview_of_a_conversion_proposes_its_partitions(olga, lake, answers):
    place = factories.table_in(lake, "raw").path
    assert "Partitioned by day date (proposed: give it as --partitioned-by)" in words_of(
        olga("preview", "convert", place)
    )
    found = json.loads(olga("preview", "convert", place, "--json").stdout)
    assert (found["partition_columns"], found["path"], "catalog_name" in found) == ([DAY], place, False)
    assert Read.objects.filter(kind="inspect", question={"path": place}).exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "name", ["sales.events", "Sales.EVENTS", "spark_catalog.sales.events", "SPARK_CATALOG.sales.Events"]
)
def test_a_preview_by_a_catalog_name_is_of_its_directory(olga, named, answers, name):
    place = named("sales.events")
    found = json.loads(olga("preview", "convert", name, "--json").stdout)
    assert (found["path"], found["partition_columns"]) == (place, [DAY])
    assert (found["catalog_name"], found["catalog_entry"]) == ("sales.events", None)
    said = words_of(olga("preview", "convert", name))
    assert f"Catalog name sales.events Path {place}" in said
    assert "Partitioned by day date (proposed: give it as --partitioned-by)" in said
    assert {read.question["path"] for read in Read.objects.all()} == {place}
    assert not Job.objects.exists()


def test_a_preview_by_name_says_what_the_catalog_declares(olga, named, answers):
    named("sales.events", schema=DECLARED, partition_columns=["day"])
    found = json.loads(olga("preview", "convert", "sales.events", "--json").stdout)
    assert found["catalog_entry"] == {"schema": DECLARED, "partition_columns": ["day"]}
    said = words_of(olga("preview", "convert", "sales.events"))
    assert "Found in directories day date" in said
    assert "Partitioned by day string (declared by the catalog: leave --partitioned-by out)" in said
    assert "proposed" not in said


def test_a_preview_by_name_says_that_the_catalog_declares_no_partition(olga, named, answers):
    named("sales.events", schema=DECLARED)
    said = words_of(olga("preview", "convert", "sales.events"))
    assert "Partitioned by nothing (declared by the catalog: leave --partitioned-by out)" in said


def test_one_word_is_a_name_of_the_default_database(olga, named, answers):
    place = named("default.events")
    assert json.loads(olga("preview", "convert", "events", "--json").stdout)["path"] == place
    named("sales.visits", "visits")
    assert olga("preview", "convert", "visits").exit_code == Exit.NOT_FOUND


def test_no_name_of_the_catalog_is_inspected_or_converted(olga, named, answers):
    """A name that only a metastore has is one of them."""
    named("sales.events")
    for name in ("sales.nosuch", "hive.sales.events", "sales.events.day"):
        for done in (olga("preview", "convert", name), olga("convert", name, "--unpartitioned", "--reason", "r")):
            assert (done.exit_code, done.stdout) == (Exit.NOT_FOUND, ""), name
            assert f"No table is named {name}" in done.stderr
    assert not Read.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize("name", ["sales.events", "spark_catalog.Sales.events"])
def test_a_conversion_by_name_takes_the_partitions_that_the_catalog_declares(olga, named, name):
    place = named("sales.events", schema=DECLARED, partition_columns=["day"])
    denied = olga("convert", name, "--unpartitioned", "--reason", "r")
    assert denied.exit_code == Exit.USAGE
    assert "The catalog declares partition columns of sales.events: day. Leave --unpartitioned out." in denied.stderr
    other = olga("convert", name, "--partitioned-by", "day date", "--reason", "r")
    assert (other.exit_code, "[partition_mismatch; DELTA_UNEXPECTED_" in other.stderr) == (Exit.REFUSED, True)
    assert not Job.objects.exists()
    made = json.loads(olga("convert", name, "--reason", "r", "--json").stdout)
    assert (made["command"], made["table"]["path"]) == ("convert", place)
    given = Job.objects.get().parameters
    assert (given["name"], given["path"], given["partition_schema"]) == ("sales.events", None, None)
    assert (given["declared_schema"], given["declared_partitions"]) == (DECLARED, ["day"])


def test_a_conversion_by_a_name_without_declared_columns_says_its_partitions(olga, named):
    named("sales.events")
    assert olga("convert", "sales.events", "--reason", "r").exit_code == Exit.USAGE
    both = ("--unpartitioned", "--partitioned-by", "day date")
    assert olga("convert", "sales.events", *both, "--reason", "r").exit_code == Exit.USAGE
    assert not Job.objects.exists()
    made = json.loads(olga("convert", "sales.events", "--partitioned-by", "day date", "--reason", "r", "--json").stdout)
    assert (made["parameters"]["name"], made["parameters"]["partition_schema"]) == ("sales.events", "day date")


def test_streams_are_listed_started_and_stopped_by_name(olga, lake):
    landing = Path(lake.uri) / "landing"
    landing.mkdir()
    definition = {
        "name": "clicks", "reason": "clicks of the shop", "target": {"path": f"{lake.uri}/clicks"}, "output_mode": "append",
        "source": {"path": str(landing), "format": "json", "schema": "id BIGINT"},
    }  # fmt: skip
    assert Caller(olga.person).post("/streams", definition).status_code == 201
    assert "clicks" in olga("streams").stdout
    assert json.loads(olga("streams", "show", "clicks", "--json").stdout)["name"] == "clicks"
    assert olga("streams", "show", "nosuch").exit_code == Exit.NOT_FOUND
    started = olga("streams", "start", "clicks", "--json")
    assert started.exit_code == 0, started.stderr
    assert json.loads(started.stdout)["command"] == "stream_round"
    assert olga("streams", "stop", "clicks").exit_code == 0


def test_schedules_are_defined_decided_and_ended_by_name(olga, anna, sales, lake):
    factories.PolicyRuleFactory(name="optimizing", command="optimize")
    when = ("--cron", "30 3 * * *", "--zone", "UTC", "--window", "60", "--reason", "small files")
    made = olga("schedules", "create", "nightly", "optimize", "--table", "sales", *when, "--json")
    assert made.exit_code == 0, made.stderr
    assert json.loads(made.stdout)["state"] == "awaiting_approval"
    values = ("--with", '{"retention_hours": 720}')
    many = olga("schedules", "create", "old", "vacuum", "--root", lake.name, *values, *when, "--json")
    assert json.loads(many.stdout)["on"] == {"root": str(lake.pk)}
    assert f"all tables of {lake.name}" in olga("schedules", "show", "old").stdout
    tagged = olga("schedules", "create", "gold", "reorg", "--tag", "gold", *when)
    assert "all tables tagged gold" in tagged.stdout
    assert olga("schedules", "create", "none", "optimize", *when).exit_code == Exit.USAGE
    assert olga("schedules", "create", "none", "optimize", "--tag", "g", "--with", "[]", *when).exit_code == Exit.USAGE
    assert [name in olga("schedules").stdout for name in ("nightly", "old", "gold", "none")] == [
        True,
        True,
        True,
        False,
    ]
    assert anna("schedules", "approve", "nightly", "--digest", "0" * 64, "--yes").exit_code == Exit.REFUSED
    assert anna("schedules", "approve", "nightly", "--yes").exit_code == 0
    assert Schedule.objects.get(name="nightly").state == "active"
    assert olga("schedules", "pause", "nightly").exit_code == 0
    assert Schedule.objects.get(name="nightly").state == "paused"
    assert olga("schedules", "resume", "nightly").exit_code == 0
    assert Schedule.objects.get(name="nightly").state == "active"
    assert anna("schedules", "reject", "gold", "--reason", "not now").exit_code == 0
    assert Schedule.objects.get(name="gold").state == "stopped"
    assert olga("schedules", "runs", "nightly").exit_code == 0
    assert olga("schedules", "remove", "old").exit_code == 0
    assert olga("schedules", "show", "old").exit_code == Exit.NOT_FOUND


def test_the_audit_is_exported_whole(olga, anna, server, sales, tmp_path):
    assert olga("audit", "export").exit_code == Exit.NOT_ALLOWED
    auditor = Somebody(factories.appointed("ada", Role.AUDITOR), server, "read")
    target = tmp_path / "audit.jsonl"
    done = auditor("audit", "export", "--action", "token.add", "-o", str(target))
    assert (done.exit_code, done.stdout) == (0, "")
    lines = [json.loads(line) for line in target.read_text().splitlines()]
    assert {line["action"] for line in lines if "action" in line} == {"token.add"}
    assert auditor("audit", "export", "--format", "csv").stdout.count("\n") > 3


def at_a_terminal(who: Somebody, typed: str, directory: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    """The executable that set-up put in place, from a directory in which a module has the same name as Levee's."""
    (directory / "console.py").write_text("raise SystemExit('the wrong one')")
    keyboard, terminal = os.openpty()
    os.write(keyboard, typed.encode())
    try:
        return subprocess.run(
            [EXECUTABLE, *args], cwd=directory, env={**os.environ, **who.environment}, stdin=terminal, capture_output=True,
            text=True, timeout=300,
        )  # fmt: skip
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_at_a_terminal_an_approval_asks(olga, anna, sales, worker, tmp_path):
    job = asked(olga, sales)
    worker()
    no = at_a_terminal(anna, "n\n", tmp_path, "approve", job)
    assert (no.returncode, no.stdout) == (Exit.INTERRUPTED, "")
    assert no.stderr.endswith("Approve this? [y/N]: levee: Nothing was approved.\n")
    assert Job.objects.get(pk=job).state == State.AWAITING_APPROVAL
    yes = at_a_terminal(anna, "y\n", tmp_path, "approve", job, "--json")
    assert yes.returncode == Exit.DONE, yes.stderr
    assert json.loads(yes.stdout)["state"] == "queued"


@pytest.mark.parametrize("how", [("--wait", "--timeout", "0s"), ()])
def test_a_request_prints_its_page_to_send_to_who_approves_it(olga, server, sales, how):
    told = olga("delete", "sales", "--where", "p = 'FR'", "--reason", "old", *how)
    job = Job.objects.get()
    assert f"{server}/jobs/{job.pk}/" in told.stderr.split()
    assert server not in told.stdout, "the data is alone there"
