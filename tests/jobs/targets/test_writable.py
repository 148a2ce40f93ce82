"""A table that Delta can't write to is refused at the request of any change, with Delta's condition, before anybody reviews it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.domain.delta.protocols import FEATURES, DeltaProtocol, unwritable
from jobs.models import Job
from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules import features
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes, person_with
from tests.jobs import small_delta

UNKNOWN: dict[str, Any] = {
    "minReaderVersion": 1,
    "minWriterVersion": 7,
    "writerFeatures": ["appendOnly", "somethingNew"],
}
TOO_NEW: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 8}
NEWER: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 9, "writerFeatures": ["appendOnly"]}
CONDITIONS = [
    pytest.param(UNKNOWN, "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", id="a feature that nobody knows"),
    pytest.param(TOO_NEW, "DELTA_INVALID_PROTOCOL_VERSION", id="a version that nobody knows"),
    pytest.param(NEWER, "DELTA_INVALID_PROTOCOL_VERSION", id="such a version with features"),
]
CHANGES: dict[str, dict[str, Any]] = {
    "delete": {"predicate": "id = 1"},
    "restore": {"version": 0},
    "optimize": {},
    "reorg": {},
    "repair": {},
    "vacuum": {},
    "set_properties": {"set": {"team": "me"}, "unset": []},
    "drop_feature": {"feature": "somethingNew"},
    "alter_schema": {"changes": [{"add_constraint": {"name": "small", "expression": "id < 100"}}]},
}


@pytest.fixture
def sales(db: None, tmp_path: Path) -> Table:
    return lakes.sales_in(factories.RootFactory(name="lake", uri=str(tmp_path)))


def of_protocol(table: Table, protocol: dict[str, Any]) -> Table:
    """The table after another engine has changed its protocol."""
    small_delta.commit(Path(table.path), "UPGRADE PROTOCOL", [{"protocol": protocol}])
    return syncing.sync(table.pk)


@pytest.mark.parametrize(("protocol", "condition"), CONDITIONS)
@pytest.mark.parametrize("command", CHANGES)
def test_a_change_is_refused_at_its_request(
    sales: Table, command: str, protocol: dict[str, Any], condition: str
) -> None:
    table = of_protocol(sales, protocol)
    asked = {"command": command, "table": str(table.pk), "reason": "r", **CHANGES[command]}
    answer = caller("operator").post("/jobs", asked)
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_protocol"), answer.json()
    assert answer.json()["engine"]["condition"] == condition
    named = "somethingNew" if protocol is UNKNOWN else f"writer {protocol['minWriterVersion']}"
    assert named in answer.json()["detail"]
    assert not Job.objects.exists()


def test_a_clone_only_reads_its_source(sales: Table) -> None:
    table = of_protocol(sales, UNKNOWN)
    target = {"target": f"{table.root.uri}/copy", "kind": "shallow"}
    asked = {"command": "clone", "table": str(table.pk), "reason": "r", **target}
    answer = caller("operator").post("/jobs", asked)
    assert answer.status_code == 201, answer.json()
    preview = Job.objects.get().preview or {}
    assert "somethingNew" not in preview["features"]
    [said] = [each["text"] for each in preview["consequences"] if each["code"] == "loses_features"]
    assert "doesn’t get the feature somethingNew, which Delta 4.4 doesn’t know" in said


def test_the_preview_of_a_delete_and_its_page_say_so_while_the_table_is_read(sales: Table) -> None:
    table = of_protocol(sales, UNKNOWN)
    answer = caller("operator").post("/previews", {"table": str(table.pk), "predicate": "id = 1"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_protocol")
    person = browser(person_with("operator"))
    assert "somethingNew" in person.get(f"/tables/{table.pk}/delete/").content.decode()
    assert person.get(f"/tables/{table.pk}/history/").status_code == 200
    assert (table.sync_error, table.version) == ("", small_delta.head(Path(table.path)))


def test_what_delta_writes_is_not_refused() -> None:
    assert unwritable(DeltaProtocol(1, 2)) is None
    assert unwritable(DeltaProtocol(2, 6)) is None
    assert (
        unwritable(DeltaProtocol(3, 7, ("deletionVectors",), ("deletionVectors", "rowTracking", "domainMetadata")))
        is None
    )
    assert [name for name in FEATURES if unwritable(DeltaProtocol(3, 7, (), (name,)))] == []
    assert unwritable(DeltaProtocol(3, 7, ("deletionvectors",), ("deletionvectors",))) is not None


@pytest.mark.parametrize("writer", [2, 6, 7, 8])
@pytest.mark.parametrize("name", [None, *sorted({*FEATURES, *features.FEATURES}), "deletionvectors", "somethingNew"])
def test_health_finds_what_requests_refuse(name: str | None, writer: int) -> None:
    listed = None if name is None else (name,)
    refused = unwritable(DeltaProtocol(1, writer, (), listed)) is not None
    assert bool(features.locks_writers_out(Protocol(1, writer, None, listed))) == refused


def test_no_schedule_is_defined_on_a_table_that_can_not_be_written(sales: Table) -> None:
    table = of_protocol(sales, UNKNOWN)
    command = {"command": "optimize", "table": str(table.pk)}
    asked = {
        "name": "nightly",
        "reason": "r",
        "command": command,
        "cron": "0 3 * * *",
        "time_zone": "Europe/Berlin",
        "window_minutes": 60,
    }
    answer = caller("operator").post("/schedules", asked)
    assert (answer.status_code, answer.json()["code"]) == (422, "unsupported_protocol"), answer.json()
