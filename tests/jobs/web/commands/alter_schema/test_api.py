"""Changes of a schema by the API: the prediction, and what Delta would refuse."""

import json
from pathlib import Path

import pytest

from jobs.models import Job
from tests.clients import caller
from tests.jobs import small_delta

NESTED = json.loads("[" * 700 + "]" * 700)


def ask(who, table, *changes, **more):
    body = {"command": "alter_schema", "table": str(table.pk), "changes": list(changes), "reason": "r", **more}
    return who.post("/jobs", body)


def test_the_api_answers_with_schema_and_protocol_before_and_after(sales):
    answer = ask(caller("operator"), sales, {"add_constraint": {"name": "Small", "expression": "id<100"}})
    assert answer.status_code == 201, answer.json()
    preview = answer.json()["preview"]
    assert (preview["before"]["constraints"], preview["after"]["constraints"]) == ({}, {"small": "id < 100"})
    versions = [preview[name]["min_writer_version"] for name in ("protocol_before", "protocol_after")]
    assert versions == [2, 3]
    assert (preview["class"], preview["violating_rows"]) == ("irreversible", None)
    assert preview["readers"]
    assert "metadata_sha256" not in preview


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        ({"rename": {"path": "id", "to": "key"}}, "DELTA_UNSUPPORTED_RENAME_COLUMN"),
        ({"not_null": {"path": "id"}}, "DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP"),
        ({"drop_constraint": {"name": "nope"}}, "DELTA_CONSTRAINT_DOES_NOT_EXIST"),
        ({"comment": {"path": "nope", "text": "x"}}, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
    ],
)
def test_the_api_refuses_with_delta_s_condition(sales, change, condition):
    answer = ask(caller("operator"), sales, change)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, condition)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [{}],
        [{"add": {"path": "a", "type": "int"}, "drop": {"path": "b"}}],
        [{"add": {"path": "a"}}],
        [{"add": {"path": "a", "type": 5}}],
        [{"add": {"path": "a", "type": "int", "nope": 1}}],
        [{"add": {"path": "a", "type": "int", "first": True, "after": "id"}}],
        [{"turn": {"path": "a"}}],
        [{"cluster_by": "id"}],
        [{"table_comment": None}],
        [{"table_comment": NESTED}],
        [{"add": {"path": NESTED, "type": "int"}}],
        ["add"],
        [{"comment": {"path": "id", "text": "x"}}] * 51,
    ],
)
def test_odd_changes_are_400_and_named(sales, changes):
    answer = ask(caller("operator"), sales, *changes)
    assert answer.status_code == 400
    assert "changes" in answer.json()["fields"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("odd", ["\x00", "\ud800"])
@pytest.mark.parametrize(
    "change",
    [
        {"table_comment": "a{}"},
        {"comment": {"path": "id", "text": "a{}"}},
        {"add": {"path": "x{}", "type": "int"}},
        {"add": {"path": "x", "type": "struct<`{}`:int>"}},
        {"add": {"path": "x", "type": "int", "comment": "{}"}},
        {"cluster_by": ["{}"]},
    ],
)
def test_what_the_database_cannot_store_is_400(sales, change, odd):
    answer = ask(caller("operator"), sales, _with(change, odd))
    assert (answer.status_code, "can’t be stored" in answer.json()["detail"]) == (400, True)


def _with(value, odd):
    if isinstance(value, dict):
        return {key: _with(item, odd) for key, item in value.items()}
    return value.replace("{}", odd) if isinstance(value, str) else [_with(item, odd) for item in value]


def test_a_refused_change_says_its_place_in_the_list(sales):
    answer = ask(caller("operator"), sales, {"table_comment": "x"}, {"nullable": {"path": "id"}})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("Change 2: id can be NULL already")


def test_fields_without_metadata_are_changed_as_any_other(sales):
    """Spark reads such a schema, and some writers make it."""
    fields = [{"name": "id", "type": "long"}, {"name": "p", "type": "string", "metadata": None}]
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": fields})
    changes = [{"comment": {"path": "id", "text": "x"}}, {"add": {"path": "n", "type": "int"}}, {"cluster_by": []}]
    answers = [ask(caller("operator"), sales, change) for change in changes]
    assert [answer.status_code for answer in answers] == [201, 201, 400]
    assert [each["metadata"] for each in answers[0].json()["preview"]["before"]["schema"]["fields"]] == [{}, {}]


def test_what_no_database_stores_is_left_out_of_the_schema(sales):
    """Delta's log holds the schema as a text, in which such characters are spelled out."""
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "a\x00b\ud800"}},
        {"name": "p", "type": "string", "nullable": True, "metadata": {}},
    ]
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": fields})
    answer = ask(caller("operator"), sales, {"comment": {"path": "p", "text": "x"}})
    assert answer.status_code == 201
    assert answer.json()["preview"]["before"]["schema"]["fields"][0]["metadata"] == {"comment": "a\ufffdb?"}


@pytest.mark.parametrize("highest", ["x", "-1", "9" * 5_000])
def test_a_table_whose_columns_can_not_be_numbered_takes_no_new_one(mapped, highest):
    first = Path(mapped.path, "_delta_log", f"{0:020d}.json")
    first.write_text(
        first.read_text().replace(
            '"delta.columnMapping.maxColumnId": "2"', f'"delta.columnMapping.maxColumnId": "{highest}"'
        )
    )
    answer = ask(caller("operator"), mapped, {"add": {"path": "n", "type": "int"}})
    assert answer.status_code == 400
    assert "delta.columnMapping.maxColumnId" in answer.json()["detail"]
