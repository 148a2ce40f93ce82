"""What asks for a table's administration: each line becomes the request that the API knows, or is refused with what is wrong in it."""

import json

import pytest

from console.cli.exits import Exit
from jobs.models import Job


def asked_by(olga, *line: str) -> Job:
    done = olga(*line, "--reason", "as agreed", "--id")
    assert done.exit_code == 0, done.stderr
    return Job.objects.get(pk=done.stdout.strip())


@pytest.mark.parametrize(
    ("line", "parameters"),
    [
        (["vacuum"], {"retention_hours": None, "lite": False}),
        (["vacuum", "--retention-hours", "720", "--lite"], {"retention_hours": 720, "lite": True}),
        (["reorg"], {"predicate": None}),
        (["repair"], {}),
        (["optimize", "--zorder-by", "id"], {"zorder_by": ["id"], "full": False}),
        (["set-properties", "--set", "team=a=b", "--set", "note="], {"set": {"team": "a=b", "note": ""}, "unset": []}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_line_becomes_its_request(olga, sales, line, parameters):
    command, *rest = line
    done = olga(command, sales, *rest, "--reason", "as agreed", "--json")
    assert done.exit_code == 0, done.stderr
    job = Job.objects.get(pk=json.loads(done.stdout)["id"])
    assert (job.command, job.reason) == (command.replace("-", "_"), "as agreed")
    assert {name: job.parameters[name] for name in parameters} == parameters


@pytest.mark.parametrize(
    ("line", "condition"),
    [
        (["drop-feature", "deletionVectors", "--truncate-history"], "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT"),
        (["set-properties", "--unset", "old"], "DELTA_UNSET_NON_EXISTENT_PROPERTY"),
    ],
    ids=["drop-feature", "set-properties"],
)
def test_what_the_table_lacks_is_refused_in_delta_s_words(olga, sales, line, condition):
    command, *rest = line
    done = olga(command, sales, *rest, "--reason", "as agreed")
    assert (done.exit_code, condition in done.stderr) == (Exit.REFUSED, True), done.stderr


def test_changes_of_a_schema_keep_the_order_of_the_line(olga, sales):
    job = asked_by(
        olga, "alter-schema", sales, "--add", "vip", "boolean", "--comment", "id", "the number", "--add", "n", "int",
        "--add-constraint", "positive", "id >= 0", "--table-comment", "orders",
    )  # fmt: skip
    assert job.command == "alter_schema"
    assert [next(iter(change)) for change in job.parameters["changes"]] == [
        "add", "comment", "add", "add_constraint", "table_comment",
    ]  # fmt: skip
    assert [change["add"]["path"] for change in job.parameters["changes"] if "add" in change] == ["vip", "n"]


def test_changes_of_a_schema_come_from_a_file_or_from_standard_input(olga, sales, tmp_path):
    changes = [{"add": {"path": "vip", "type": "boolean", "after": "id"}}]
    file = tmp_path / "changes.json"
    file.write_text(json.dumps(changes))
    job = asked_by(olga, "alter-schema", sales, "--changes", str(file))
    assert job.parameters["changes"][0]["add"]["after"] == "id"
    line = ["alter-schema", sales, "--changes", "-", "--reason", "as agreed"]
    for text, said in (("{", "--changes is no JSON"), ("{}", "--changes is no list"), ("[]", "changes")):
        done = olga(*line, given=text)
        assert done.exit_code in (Exit.USAGE, Exit.REFUSED), done.stderr
        assert said in done.stderr


def test_a_clone_is_shallow_or_deep_as_was_said(olga, sales, lake):
    target = f"{lake.uri}/copy"
    job = asked_by(olga, "clone", sales, target, "--deep", "--version", "0")
    assert (job.command, job.parameters["target"], job.parameters["version"]) == ("clone", target, 0)
    assert job.parameters["depth"] == "deep"
    neither = olga("clone", sales, target, "--reason", "as agreed")
    assert (neither.exit_code, "--shallow or --deep" in neither.stderr) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    "command",
    [["delete", "--where", "p = 'FR'"], ["restore", "0"], ["optimize"], ["alter-schema", "--add", "note", "string"]],
)
def test_what_can_run_on_a_clone_first_is_asked_to(olga, sales, command):
    name, *rest = command
    done = olga(name, sales, *rest, "--rehearse", "--reason", "as agreed", "--id")
    assert done.exit_code == 0, done.stderr
    assert Job.objects.get(pk=done.stdout.strip()).rehearse


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["vacuum", "--retention-hours", "-1"], "-1 is not in the range"),
        (["vacuum", "--retention-hours", "a week"], "is not a valid integer"),
        (["set-properties"], "Give --set NAME=VALUE or --unset NAME."),
        (["set-properties", "--set", "team"], "write NAME=VALUE"),
        (["set-properties", "--set", "a=1", "--set", "a=2"], "a is set twice"),
        (["alter-schema"], "Give changes as options, or all of them by --changes."),
        (["alter-schema", "--rename", "id"], "requires 2 arguments"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_line_that_says_no_request_is_refused_here(olga, sales, line, said):
    command, *rest = line
    done = olga(command, sales, "--reason", "as agreed", *rest)
    assert done.exit_code == Exit.USAGE
    assert said in done.stderr
    assert not Job.objects.exists()
