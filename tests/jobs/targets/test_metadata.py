"""Column names that Delta takes with column mapping alone: rows are deleted and rewritten, a change of metadata is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.commands.clone.log import from_log as cloned
from jobs.commands.clone.rules import Clone
from jobs.domain.delta.column_names import CONDITION
from jobs.domain.errors import CommandRefused
from jobs.models import Job
from jobs.targets.subject import subject_of
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import caller
from tests.factories import lakes

NAMES = ["my col", "x;y", "a,b", "a=b", "a(b)"]
REFUSED: dict[str, dict[str, Any]] = {
    "a property": {"command": "set_properties", "set": {"team": "me"}, "unset": []},
    "no property": {"command": "set_properties", "set": {}, "unset": ["delta.appendOnly"]},
    "row tracking, which commits twice before Delta looks": {
        "command": "set_properties", "set": {"delta.enableRowTracking": "true"}, "unset": [],
    },
    "a column": {"command": "alter_schema", "changes": [{"add": {"path": "z", "type": "int"}}]},
    "a comment": {"command": "alter_schema", "changes": [{"table_comment": "x"}]},
    "a constraint": {"command": "alter_schema", "changes": [{"add_constraint": {"name": "c", "expression": "id < 9"}}]},
    "clustering": {"command": "alter_schema", "changes": [{"cluster_by": ["id"]}]},
    "a restore": {"command": "restore", "version": 0},
}  # fmt: skip
ALLOWED: dict[str, dict[str, Any]] = {
    "a delete": {"command": "delete", "predicate": "id = 1"},
    "an optimize": {"command": "optimize"},
    "a sorted one": {"command": "optimize", "zorder_by": ["id"]},
    "a reorg": {"command": "reorg"},
    "a repair": {"command": "repair"},
    "a vacuum": {"command": "vacuum"},
    "the way out": {"command": "set_properties", "set": {"delta.columnMapping.mode": "name"}, "unset": []},
}  # fmt: skip


@pytest.fixture
def lake(db: None, tmp_path: Path) -> Any:
    return factories.RootFactory(name="lake", uri=str(tmp_path))


def written(lake: Any, name: str) -> Table:
    """Two versions of a table with such a column, by another engine."""
    place = Path(lake.uri) / "odd"
    for start in (0, 3):
        ids = list(range(start, start + 3))
        lakes.delta(place, {"id": ids, name: ids}, mode="append", configuration={"delta.appendOnly": "false"})
    return syncing.sync(factories.TableFactory(root=lake, path=str(place), name="odd").pk)


def answer(table: Table, asked: dict[str, Any]) -> Any:
    return caller("operator").post("/jobs", {"table": str(table.pk), "reason": "r", **asked})


@pytest.mark.parametrize("name", NAMES)
def test_a_delete_of_rows_is_previewed(lake: Any, name: str) -> None:
    table = written(lake, name)
    for predicate in ("id = 1", f"`{name}` = 1"):
        found = caller("operator").post("/previews", {"table": str(table.pk), "predicate": predicate})
        assert found.json().get("files_matched") == 1, found.json()


@pytest.mark.parametrize("asked", REFUSED.values(), ids=REFUSED)
def test_a_change_of_metadata_is_refused_with_deltas_condition_and_the_way_out(
    lake: Any, asked: dict[str, Any]
) -> None:
    said = answer(written(lake, "my col"), asked)
    assert (said.status_code, said.json()["code"]) == (422, "bad_column_name"), said.json()
    assert said.json()["engine"]["condition"] == CONDITION
    assert "“my col”" in said.json()["detail"]
    assert "delta.columnMapping.mode" in said.json()["detail"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("asked", ALLOWED.values(), ids=ALLOWED)
def test_a_change_of_files_alone_is_taken_and_so_is_the_way_out(lake: Any, asked: dict[str, Any]) -> None:
    said = answer(written(lake, "my col"), asked)
    assert said.status_code == 201, said.json()


@pytest.mark.parametrize("name", ["a.b", "ä", "`x`"])
def test_other_odd_names_need_no_mapping(lake: Any, name: str) -> None:
    assert answer(written(lake, name), REFUSED["a property"]).status_code == 201


def test_a_field_of_a_struct_counts_and_a_clone_is_refused_too(lake: Any) -> None:
    place = lakes.delta(Path(lake.uri) / "odd", {"id": [1], "s": [{"in side": 1}]})
    table = syncing.sync(factories.TableFactory(root=lake, path=str(place), name="odd").pk)
    command = Clone(str(table.pk), "copy", "shallow", source=table.path, source_name="odd")
    with pytest.raises(CommandRefused) as refused:
        cloned(subject_of(table.pk), command)
    [refusal] = refused.value.refusals
    assert (refusal.code, refusal.engine and refusal.engine.condition) == ("bad_column_name", CONDITION)
    assert "“s.in side”" in refusal.message


def test_a_restore_to_a_version_with_mapping_is_taken_and_to_one_before_it_refused(lake: Any) -> None:
    table = written(lake, "my col")
    log = Path(table.path) / "_delta_log"
    lines = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
    [metadata] = [line["metaData"] for line in lines if "metaData" in line]
    mapped = json.loads(metadata["schemaString"])
    for number, field in enumerate(mapped["fields"], 1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
    metadata["schemaString"] = json.dumps(mapped)
    metadata["configuration"] = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    actions = [{"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, {"metaData": metadata}]
    for version in (2, 3):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    syncing.sync(table.pk)
    assert answer(table, {"command": "restore", "version": 2}).status_code == 201
    assert answer(table, {"command": "restore", "version": 1}).json()["code"] == "bad_column_name"
