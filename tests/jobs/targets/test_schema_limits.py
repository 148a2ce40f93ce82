"""Columns that Spark can't read, write again or keep: refused at the request of what would fail, and found by health."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.restore.handling import preview_by_log
from jobs.models import Job
from jobs.targets.undo_window import undo_to
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes, person_with
from tests.jobs import small_delta
from tests.jobs.targets.test_openable import actions_of
from tests.jobs.targets.test_property_values import asked

AGAIN = "P"  # the table has a partition column p
TIME, NTZ, DAYS, VOIDS = "time(6)", "timestamp_ntz", "interval day", {"type": "array", "elementType": "void"}
METADATA: dict[str, dict[str, Any]] = {
    "set_properties": {"set": {"team": "me"}, "unset": []},
    "alter_schema": {"changes": [{"add": {"path": "z", "type": "int"}}]},
    "clone": {"kind": "shallow"},
}
DUPLICATE = "DELTA_DUPLICATE_COLUMNS_FOUND"
UNSUPPORTED = "DELTA_UNSUPPORTED_DATA_TYPES"
NOT_SWITCHED_ON = "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"


@pytest.fixture
def sales(db: None, tmp_path: Path) -> Table:
    return lakes.sales_in(factories.RootFactory(name="lake", uri=str(tmp_path)))


def with_column(table: Table, name: str, kind: Any) -> Table:
    """The table after another engine has added a column."""
    metadata = actions_of(table)["metaData"]
    schema = json.loads(metadata["schemaString"])
    schema["fields"].append({"name": name, "type": kind, "nullable": True, "metadata": {}})
    small_delta.commit(Path(table.path), "ADD COLUMNS", [{"metaData": metadata | {"schemaString": json.dumps(schema)}}])
    return syncing.sync(table.pk)


def given_for(table: Table, command: str) -> dict[str, Any]:
    given = METADATA.get(command, {})
    return {**given, "target": f"{table.root.uri}/copy"} if command == "clone" else given


def answer_to(table: Table, command: str, **given: Any) -> tuple[int, str, str | None]:
    answer = asked(table, command, **(given or given_for(table, command)))
    body = answer.json()
    return answer.status_code, body.get("code", ""), (body.get("engine") or {}).get("condition")


@pytest.mark.parametrize("command", METADATA)
@pytest.mark.parametrize(
    ("name", "kind", "condition"),
    [
        pytest.param(AGAIN, "long", f"{DUPLICATE}.METADATA_UPDATE", id="a name that is there"),
        pytest.param("t", TIME, UNSUPPORTED, id="a type that Delta keeps in no metadata"),
        pytest.param("t", DAYS, UNSUPPORTED, id="one that it reads and rewrites"),
    ],
)
def test_what_commits_metadata_is_refused_at_its_request(
    sales: Table, command: str, name: str, kind: Any, condition: str
) -> None:
    table = with_column(sales, name, kind)
    assert answer_to(table, command) == (422, "unsupported_schema", condition)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("name", "kind", "delete", "optimize"),
    [
        pytest.param(AGAIN, "long", f"{DUPLICATE}.EXISTING_SCHEMA", "AMBIGUOUS_REFERENCE", id="a name that is there"),
        pytest.param("t", TIME, "UNSUPPORTED_TIME_TYPE", "UNSUPPORTED_TIME_TYPE", id="a time"),
        pytest.param("t", VOIDS, *["DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE"] * 2, id="an array of voids"),
        pytest.param("t", DAYS, None, None, id="an interval of days"),
        pytest.param("t", NTZ, None, None, id="a timestamp without a zone"),
    ],
)
def test_what_writes_rows_again_is_refused_where_spark_fails_in_it(
    sales: Table, name: str, kind: Any, delete: str | None, optimize: str | None
) -> None:
    small_delta.append(Path(sales.path), [{"id": 90, "p": "FR"}, {"id": 91, "p": "FR"}])
    table = with_column(sales, name, kind)
    for command, given, condition in (
        ("delete", {"predicate": "id = 1"}, delete),
        ("optimize", {"predicate": None}, optimize),
    ):
        code = 201 if condition is None else 422
        assert answer_to(table, command, **given)[::2] == (code, condition), command
        Job.objects.all().delete()


def test_what_rewrites_nothing_is_taken(sales: Table) -> None:
    """A vacuum, a repair, a reorg without deletion vectors; a delete of whole files, of a type that can be read."""
    table = with_column(sales, "t", VOIDS)
    for command, given in (
        ("vacuum", {}),
        ("repair", {}),
        ("reorg", {"predicate": None}),
        ("delete", {"predicate": "p = 'FR'"}),
    ):
        assert answer_to(table, command, **given)[0] == 201, command
        Job.objects.all().delete()
    assert with_column(sales, AGAIN, "long").health_codes == ["unreadable_columns", "unsupported_columns"]
    assert answer_to(sales, "delete", predicate="id < 0")[0] == 201, "no row matches, so that Spark is asked nothing"


def test_a_restore_leads_out_and_none_leads_in(sales: Table) -> None:
    good = small_delta.head(Path(sales.path))
    table = with_column(sales, "t", TIME)
    assert answer_to(table, "restore", version=good)[0] == 201
    Job.objects.all().delete()
    small_delta.commit(Path(table.path), "SET", [{"metaData": {**actions_of(table)["metaData"], **original(table)}}])
    syncing.sync(table.pk)
    answer = asked(table, "restore", version=good + 1)
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_schema")
    assert "Choose a version with another schema" in answer.json()["detail"]


def test_no_undo_is_promised_into_a_schema_that_delta_refuses(sales: Table) -> None:
    good = small_delta.head(Path(sales.path))
    table = with_column(sales, AGAIN, "long")
    undo = undo_to(table, good + 1)
    assert (undo.possible, undo.until) == (False, None)
    assert "the columns p and P" in (undo.why or "")
    assert undo_to(table, good).possible
    page = browser(person_with("operator")).get(f"/tables/{table.pk}/restore/?version={good}").content.decode()
    assert "can’t be restored in turn" in html.unescape(page)
    assert "Possible until" not in html.unescape(page)
    assert asked(table, "restore", version=good).status_code == 201
    preview = preview_by_log(table.pk, good)
    assert {each["code"] for each in preview["consequences"]} >= {"no_way_back", "metadata_too"}


def original(table: Table) -> dict[str, str]:
    """The schema without its last column."""
    schema = json.loads(actions_of(table)["metaData"]["schemaString"])
    schema["fields"].pop()
    return {"schemaString": json.dumps(schema)}


def test_a_timestamp_without_a_zone_takes_its_feature_first(sales: Table) -> None:
    table = with_column(sales, "t", NTZ)
    for command in ("set_properties", "alter_schema"):
        assert answer_to(table, command) == (422, "unsupported_schema", NOT_SWITCHED_ON)
    assert answer_to(table, "clone")[0] == 201, "a new table has it switched on"
    given = {"delta.feature.timestampNtz": "supported", "team": "me"}
    assert answer_to(table, "set_properties", set=given, unset=[])[0] == 201
    assert table.health_codes == ["unsupported_columns"]
    overview = html.unescape(browser(person_with("operator")).get(f"/tables/{table.pk}/").content.decode())
    assert "Set the property delta.feature.timestampNtz to supported first" in overview


def test_a_drop_of_a_feature_commits_metadata(sales: Table) -> None:
    actions = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                             "writerFeatures": ["deletionVectors"]}}]  # fmt: skip
    small_delta.commit(Path(sales.path), "UPGRADE", actions)
    table = with_column(sales, "t", TIME)
    assert answer_to(table, "drop_feature", feature="deletionVectors") == (422, "unsupported_schema", UNSUPPORTED)


def test_health_says_what_fails_and_why_and_leads_to_the_schema(sales: Table) -> None:
    table = with_column(sales, "t", TIME)
    assert table.health_codes == ["unreadable_columns"]
    [finding] = table.health
    assert (finding["severity"], finding["value"]) == ("error", 1)
    assert "can’t read this table’s rows, write them again or change its schema or properties" in finding["text"]
    assert "column t of type time(6)" in finding["text"]
    person = browser(person_with("operator"))
    overview = html.unescape(person.get(f"/tables/{table.pk}/").content.decode())
    assert finding["text"] in overview
    assert f'href="/tables/{table.pk}/schema/"' in overview
    assert "Spark can’t read it" in html.unescape(person.get("/tables/").content.decode())
    deleted = html.unescape(person.get(f"/tables/{table.pk}/delete/?predicate=id%20%3D%201").content.decode())
    assert "column t of type time(6)" in deleted
    [listed] = caller("operator").get("/tables?health=unreadable_columns").json()["results"]
    assert listed["id"] == str(table.pk)


def test_a_table_that_spark_can_not_open_has_no_further_finding(sales: Table) -> None:
    table = with_column(with_column(sales, "t", TIME), "u", "uint8")
    assert table.health_codes == ["stops_spark"]


@pytest.mark.parametrize(("name", "kind"), [("t", DAYS), (AGAIN, "long"), ("a b", "long")])
def test_what_no_clone_may_carry_is_not_rehearsed(sales: Table, name: str, kind: Any) -> None:
    good = small_delta.head(Path(sales.path))
    table = with_column(sales, name, kind)
    assert answer_to(table, "restore", version=good, rehearse=True)[:2] == (422, "rehearsal")
    assert not Job.objects.exists()


def test_a_timestamp_without_a_zone_is_rehearsed_since_a_clone_has_its_feature(sales: Table) -> None:
    assert answer_to(with_column(sales, "t", NTZ), "delete", predicate="id = 1", rehearse=True)[0] == 201
