"""Values of properties that Delta can't read: found by health, refused at the request of what would fail, mended by the properties page."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.base import DriftVerdict
from jobs.commands.registry import handling_of
from jobs.models import Job
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes, person_with
from tests.jobs import small_delta
from tests.jobs.targets.test_openable import actions_of
from tests.jobs.targets.test_writable import CHANGES

INTERVAL = "delta.checkpointInterval"
LISTING: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": []}
STOPPING = [
    pytest.param({"delta.appendOnly": "yes"}, LISTING, None, id="a feature's, in a protocol that lists features"),
    pytest.param({"delta.deletedFileRetentionDuration": "soon"}, None, "DELTA_INVALID_INTERVAL", id="a retention"),
    pytest.param({"delta.deletedFileRetentionDuration": "1 month"}, None, "INTERNAL_ERROR", id="one without a length"),
    pytest.param({"delta.columnMapping.mode": "odd"}, None, None, id="a mode"),
]


@pytest.fixture
def sales(db: None, tmp_path: Path) -> Table:
    table = lakes.sales_in(factories.RootFactory(name="lake", uri=str(tmp_path)))
    return with_values(table, {INTERVAL: "often", "delta.appendOnly": "yes"})


def with_values(table: Table, properties: dict[str, str], protocol: dict[str, Any] | None = None) -> Table:
    """The table after another engine has set these properties alone."""
    actions: list[dict[str, Any]] = [{"metaData": actions_of(table)["metaData"] | {"configuration": properties}}]
    if protocol is not None:
        actions.append({"protocol": protocol})
    small_delta.commit(Path(table.path), "SET TBLPROPERTIES", actions)
    return syncing.sync(table.pk)


def asked(table: Table, command: str, **given: Any) -> Any:
    return caller("operator").post(
        "/jobs", {"command": command, "table": str(table.pk), "reason": "r", **(given or CHANGES[command])}
    )


@pytest.mark.parametrize("command", sorted(CHANGES.keys() - {"restore"}))
def test_a_change_that_leaves_them_is_refused_at_its_request(sales: Table, command: str) -> None:
    answer = asked(sales, command)
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()
    assert answer.json()["engine"]["message"] == 'For input string: "yes"'
    assert f"delta.appendOnly: yes, {INTERVAL}: often" in answer.json()["detail"]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"set": {}, "unset": ["delta.appendOnly", INTERVAL]}, 201),
        ({"set": {INTERVAL: "10"}, "unset": ["delta.appendOnly"]}, 422),
        ({"set": {"delta.appendOnly": "false", INTERVAL: "20"}, "unset": []}, 201),
        ({"set": {INTERVAL: "10"}, "unset": []}, 422),
    ],
)
def test_a_change_of_properties_mends_them_all_at_once(sales: Table, given: dict[str, Any], status: int) -> None:
    answer = asked(sales, "set_properties", **given)
    assert answer.status_code == status, answer.json()


def test_a_restore_to_before_mends_them_and_one_to_such_a_version_is_refused(sales: Table) -> None:
    head = small_delta.head(Path(sales.path))
    assert asked(sales, "restore", version=head - 1).status_code == 201
    with_values(sales, {})
    answer = asked(sales, "restore", version=head)
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()


def test_a_clone_takes_what_its_own_commit_does_not_read(sales: Table) -> None:
    answer = asked(sales, "clone", target=f"{sales.root.uri}/copy", kind="shallow")
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()
    with_values(sales, {INTERVAL: "often"})
    assert asked(sales, "clone", target=f"{sales.root.uri}/copy", kind="shallow").status_code == 201


def test_health_says_so_and_leads_to_the_page_that_mends_them_filled_in(sales: Table) -> None:
    assert sales.health_codes == ["unreadable_properties"]
    person = browser(person_with("operator"))
    overview = html.unescape(person.get(f"/tables/{sales.pk}/").content.decode())
    assert "delta.appendOnly: yes" in overview
    link = f"/tables/{sales.pk}/properties/?unset=delta.appendOnly&unset={INTERVAL}"
    assert link in overview
    page = html.unescape(person.get(link).content.decode())
    assert "Nothing chosen" not in page
    assert [text in page for text in ("delta.appendOnly", "Request change")] == [True, True]
    assert "can’t read" in html.unescape(person.get(f"/tables/{sales.pk}/delete/").content.decode())
    assert "Unreadable properties" in html.unescape(person.get("/tables/").content.decode())
    assert with_values(sales, {INTERVAL: "10"}).health_codes == []


@pytest.mark.parametrize(("properties", "protocol", "condition"), STOPPING)
def test_one_that_keeps_delta_from_opening_the_table_is_said_as_that(
    sales: Table, properties: dict[str, str], protocol: dict[str, Any] | None, condition: str | None
) -> None:
    good = small_delta.head(Path(sales.path)) - 1
    table = with_values(sales, properties, protocol)
    [(name, value)] = properties.items()
    assert table.health_codes == ["stops_spark"]
    (finding,) = table.health
    assert f"{name}: {value}" in finding["text"]
    assert ("set_table_properties" in finding["advice"]) == (name != "delta.columnMapping.mode")
    assert "an engine that opens the table" in finding["advice"]
    for command in ("delete", "set_properties", "vacuum", "restore"):
        answer = asked(table, command)
        assert (answer.status_code, answer.json()["code"]) == (422, "stops_spark"), answer.json()
        assert answer.json()["engine"]["condition"] == condition
    mended = with_values(table, {})
    answer = asked(mended, "restore", version=good + 2)
    assert (answer.status_code, answer.json()["code"]) == (422, "stops_spark"), answer.json()
    assert f"{name}: {value}" in answer.json()["detail"]


def test_what_a_change_of_properties_can_not_mend_a_restore_does(sales: Table) -> None:
    good = small_delta.head(Path(sales.path)) - 1
    with_values(sales, {"delta.enableIcebergCompatV2": "yes"})
    overview = html.unescape(browser(person_with("operator")).get(f"/tables/{sales.pk}/").content.decode())
    assert "Restore a version from before it" in overview
    assert "?unset=" not in overview
    answer = asked(sales, "set_properties", set={}, unset=["delta.enableIcebergCompatV2"])
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()
    assert "Restore a version from before it" in answer.json()["detail"]
    assert asked(sales, "restore", version=good).status_code == 201


def test_a_change_that_mends_them_waits_unmoved(sales: Table) -> None:
    mended = asked(sales, "set_properties", set={INTERVAL: "10", "delta.appendOnly": "false"}, unset=[]).json()
    job = Job.objects.get(pk=mended["id"])
    look = handling_of(job.command).look(job)
    assert look is not None
    assert look.verdict is not DriftVerdict.MOVED, look.why


def test_versions_that_a_writer_kept_as_properties_can_be_unset(sales: Table) -> None:
    with_values(sales, {"delta.minReaderVersion": "odd"})
    assert asked(sales, "optimize").json()["code"] == "unreadable_property"
    answer = asked(sales, "set_properties", set={}, unset=["delta.minReaderVersion"])
    assert answer.status_code == 201, answer.json()
    preview = Job.objects.get().preview or {}
    assert preview["opposite"] == "", "to set what Delta can't read would be refused"
    (change,) = preview["changes"]
    assert (change["name"], change["before"], change["after"]) == ("delta.minReaderVersion", "odd", None)
    person = browser(person_with("operator"))
    page = html.unescape(person.get(f"/tables/{sales.pk}/properties/?unset=delta.minReaderVersion").content.decode())
    assert "Nothing chosen" not in page


@pytest.mark.parametrize(
    ("before", "given"),
    [
        ({"delta.enableInCommitTimestamps": "yes"}, {"delta.enableInCommitTimestamps": "true"}),
        ({"delta.logRetentionDuration": "soon"}, {"delta.deletedFileRetentionDuration": "3 days"}),
    ],
)
def test_a_change_for_which_delta_reads_another_value_is_refused(
    sales: Table, before: dict[str, str], given: dict[str, str]
) -> None:
    with_values(sales, before)
    answer = asked(sales, "set_properties", set=given, unset=[])
    assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()
    assert asked(sales, "set_properties", set={}, unset=list(before)).status_code == 201


def test_a_restore_that_mends_what_no_clone_may_carry_is_not_rehearsed(sales: Table) -> None:
    head = small_delta.head(Path(sales.path))
    answer = asked(sales, "restore", version=head - 1, rehearse=True)
    assert (answer.status_code, answer.json()["code"]) == (422, "rehearsal"), answer.json()
    assert not Job.objects.exists()


def test_of_an_older_version_the_remedy_is_another_version(sales: Table) -> None:
    head = small_delta.head(Path(sales.path))
    with_values(sales, {})
    for answer in (
        asked(sales, "restore", version=head),
        asked(sales, "clone", target=f"{sales.root.uri}/copy", kind="shallow", version=head),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "unreadable_property"), answer.json()
        assert "Choose a version without this value" in answer.json()["detail"]


LISTED = "delta.dataSkippingStatsColumns"
COLUMNS = [
    ("nope", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("id, P", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN"),
    ("id, `id`", "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS"),
]


@pytest.mark.parametrize(("columns", "condition"), COLUMNS)
def test_columns_that_delta_keeps_no_statistics_of_refuse_what_commits_metadata(
    sales: Table, columns: str, condition: str
) -> None:
    head = small_delta.head(Path(sales.path))
    table = with_values(sales, {LISTED: columns})
    for answer in (
        asked(table, "alter_schema", changes=[{"add": {"path": "more", "type": "string"}}]),
        asked(table, "set_properties", set={"team": "me"}, unset=[]),
        asked(table, "set_properties", set={"team": "me"}, unset=[LISTED]),
        asked(table, "clone", target=f"{table.root.uri}/copy", kind="shallow"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.json()
        assert answer.json()["engine"]["condition"] == condition
        assert LISTED in answer.json()["detail"]
    assert asked(table, "delete", predicate="id = 1").status_code == 201
    assert asked(table, "restore", version=head - 1, rehearse=True).json()["code"] == "rehearsal"
    Job.objects.all().delete()
    assert asked(table, "set_properties", set={}, unset=[LISTED]).status_code == 201
    assert (Job.objects.get().preview or {})["opposite"] == "", "to set it again would be refused"


def test_they_are_a_finding_that_leads_to_the_page_of_properties(sales: Table) -> None:
    table = with_values(sales, {LISTED: "nope", "delta.checkpoint.writeStatsAsStruct": "odd"})
    assert table.health_codes == ["unreadable_properties"]
    overview = html.unescape(browser(person_with("operator")).get(f"/tables/{table.pk}/").content.decode())
    assert "Couldn't find column nope" in overview
    assert "writes no checkpoint of this table" in overview
    assert f"/tables/{table.pk}/properties/?unset=delta.checkpoint.writeStatsAsStruct&unset={LISTED}" in overview
    assert with_values(table, {LISTED: "id"}).health_codes == []


def test_a_change_that_adds_the_column_that_is_listed_is_taken(sales: Table) -> None:
    table = with_values(sales, {LISTED: "id, more"})
    assert asked(table, "alter_schema", changes=[{"add": {"path": "more", "type": "string"}}]).status_code == 201


def test_no_restore_goes_back_to_a_version_with_such_a_list(sales: Table) -> None:
    version = small_delta.head(Path(with_values(sales, {LISTED: "nope"}).path))
    answer = asked(with_values(sales, {}), "restore", version=version)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.json()
    assert "Choose a version without this value" in answer.json()["detail"]
