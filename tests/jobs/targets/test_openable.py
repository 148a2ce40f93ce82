"""A table that Spark can't open is refused at the request of any change, before anybody reviews it, while its pages work."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from jobs.models import Job
from tables.models import Table
from tables.sync import table as syncing
from tests import factories
from tests.clients import browser, caller
from tests.factories import lakes, person_with
from tests.jobs import small_delta
from tests.jobs.targets.test_writable import CHANGES
from tests.tables.deltalog.writing import write_parquet


@pytest.fixture
def sales(db: None, tmp_path: Path) -> Table:
    table = lakes.sales_in(factories.RootFactory(name="lake", uri=str(tmp_path)))
    small_delta.append(Path(table.path), [{"id": 90, "p": "FR"}])
    return syncing.sync(table.pk)


def log_of(table: Table) -> Path:
    return Path(table.path) / "_delta_log"


def actions_of(table: Table) -> dict[str, Any]:
    """The newest protocol and metadata of the log."""
    lines = [line for path in sorted(log_of(table).glob("*.json")) for line in path.read_text().splitlines()]
    return {name: value for line in lines for name, value in json.loads(line).items()}


def other_checksum(table: Table) -> str:
    """Writes the newest version's checksum with another schema than the log's."""
    actions = actions_of(table)
    metadata = actions["metaData"] | {"schemaString": '{"type":"struct","fields":[]}'}
    path = log_of(table) / f"{small_delta.head(Path(table.path)):020d}.crc"
    path.write_text(json.dumps({"protocol": actions["protocol"], "metadata": metadata}))
    return path.name


def damaged_checkpoint(table: Table) -> str:
    """Writes a checkpoint of the newest version, of which 100 bytes are left."""
    path = log_of(table) / f"{small_delta.head(Path(table.path)):020d}.checkpoint.parquet"
    path.write_bytes(b"x" * 100)
    return path.name


def lacking_checkpoint(table: Table) -> str:
    """Writes a checkpoint of the newest version without protocol and metadata."""
    path = log_of(table) / f"{small_delta.head(Path(table.path)):020d}.checkpoint.parquet"
    return write_parquet(path, [{"txn": {"appId": "a", "version": 1}}]).name


def odd_commit(table: Table) -> str:
    """Another engine's commit with a field of its own by the name of one that Delta's schema has."""
    path = log_of(table) / f"{small_delta.head(Path(table.path)) + 1:020d}.json"
    path.write_text(json.dumps({"commitInfo": {"operation": "WRITE", "job": "load-7"}}))
    return path.name


def odd_protocol(table: Table) -> str:
    """Another engine's protocol with lists of features that its versions don't have."""
    path = log_of(table) / f"{small_delta.head(Path(table.path)) + 1:020d}.json"
    lists: dict[str, list[str]] = {"readerFeatures": [], "writerFeatures": []}
    path.write_text(json.dumps({"protocol": actions_of(table)["protocol"] | lists}))
    return path.name


def unlisted_feature(table: Table) -> str:
    """Another engine's protocol that lists no feature, on a table with a constraint. It is no file's fault."""
    metadata = actions_of(table)["metaData"] | {"configuration": {"delta.constraints.few": "id < 1000"}}
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": []}
    small_delta.commit(Path(table.path), "UPGRADE PROTOCOL", [{"protocol": protocol}, {"metaData": metadata}])
    return ""


def of_schema(table: Table, fields: list[dict[str, Any]], partitions: list[str]) -> str:
    """Another engine's metadata, with these columns beside its own."""
    metadata = actions_of(table)["metaData"]
    struct = json.loads(metadata["schemaString"])
    changed: dict[str, Any] = {"schemaString": json.dumps(struct | {"fields": [*struct["fields"], *fields]})}
    changed |= {"partitionColumns": [*metadata["partitionColumns"], *partitions]}
    small_delta.commit(Path(table.path), "CHANGE COLUMNS", [{"metaData": metadata | changed}])
    return ""


def unknown_type(table: Table) -> str:
    kind = {"type": "array", "elementType": "timestamp_ns", "containsNull": True}
    return of_schema(table, [{"name": "at", "type": kind, "nullable": True, "metadata": {}}], [])


def no_column(table: Table) -> str:
    return of_schema(table, [], ["P"])  # by another letter case


HARMS = [
    pytest.param(unknown_type, "INVALID_JSON_DATA_TYPE", "has the type timestamp_ns", id="a type that Spark lacks"),
    pytest.param(
        no_column, "FIELD_NOT_FOUND", "lacks the partition column P", id="a partition column that isn't there"
    ),
    pytest.param(other_checksum, "DELTA_STATE_RECOVER_ERROR", "schema differs", id="a checksum with another schema"),
    pytest.param(damaged_checkpoint, "FAILED_READ_FILE", "is damaged", id="a damaged checkpoint"),
    pytest.param(lacking_checkpoint, "DELTA_STATE_RECOVER_ERROR", "lacks protocol", id="a checkpoint without metadata"),
    pytest.param(
        odd_commit, "CANNOT_PARSE_JSON_FIELD", "commitInfo.job is not an object", id="a commit of other kinds"
    ),
    pytest.param(
        odd_protocol, "EXPRESSION_DECODING_FAILED", "has a list of writer features", id="a protocol that can't be"
    ),
    pytest.param(
        unlisted_feature,
        "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH",
        "doesn’t list checkConstraints",
        id="a feature that the protocol lacks",
    ),
]


@pytest.mark.parametrize(("harm", "condition", "said"), HARMS)
@pytest.mark.parametrize("command", ["delete", "restore", "optimize", "vacuum", "repair", "alter_schema", "clone"])
def test_a_change_is_refused_at_its_request(sales: Table, command: str, harm: Any, condition: str, said: str) -> None:
    name = harm(sales)
    copy = {"target": f"{sales.root.uri}/copy", "kind": "shallow"}
    asked = {"command": command, "table": str(sales.pk), "reason": "r", **CHANGES.get(command, copy)}
    answer = caller("operator").post("/jobs", asked)
    assert (answer.status_code, answer.json()["code"]) == (422, "stops_spark"), answer.json()
    assert answer.json()["engine"]["condition"] == condition
    assert name in answer.json()["detail"]
    assert said in answer.json()["detail"]
    remedies = {odd_commit: "write a checkpoint", odd_protocol: "write a checkpoint", unlisted_feature: "add_feature"}
    remedies |= dict.fromkeys((unknown_type, no_column), "Change the schema with an engine that opens the table")
    assert remedies.get(harm, f"Move {name} out of _delta_log") in answer.json()["detail"]
    assert not Job.objects.exists()


def mended(table: Table, harm: Any, name: str) -> None:
    """As the finding says: the engine that wrote a commit writes a checkpoint after it; any other file goes."""
    if harm in (unknown_type, no_column):
        lines = (log_of(table) / f"{0:020d}.json").read_text().splitlines()
        metadata = next(action["metaData"] for action in map(json.loads, lines) if "metaData" in action)
        small_delta.commit(Path(table.path), "CHANGE COLUMNS", [{"metaData": metadata}])
    elif harm is unlisted_feature:
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["checkConstraints"]}
        small_delta.commit(Path(table.path), "ADD FEATURE", [{"protocol": protocol}])
    elif harm is odd_commit:
        DeltaTable(table.path).create_checkpoint()
    elif harm is odd_protocol:  # what deltalake up to 0.25 writes then; newer ones don't open the table
        lines = [line for path in sorted(log_of(table).glob("*.json")) for line in path.read_text().splitlines()]
        adds = [action for action in map(json.loads, lines) if "add" in action]
        actions = actions_of(table)
        versions = {name: actions["protocol"][name] for name in ("minReaderVersion", "minWriterVersion")}
        path = log_of(table) / name.replace(".json", ".checkpoint.parquet")
        write_parquet(path, [{"protocol": versions}, {"metaData": actions["metaData"]}, *adds])
    else:
        (log_of(table) / name).unlink()


@pytest.mark.parametrize(("harm", "condition", "said"), HARMS)
def test_health_says_so_once_a_person_syncs_and_the_pages_work(
    sales: Table, harm: Any, condition: str, said: str
) -> None:
    name = harm(sales)
    table = syncing.sync(sales.pk, reread_broken=True)
    assert table.health_codes == ["stops_spark"]
    person = browser(person_with("operator"))
    overview = html.unescape(person.get(f"/tables/{table.pk}/").content.decode())
    assert name in overview
    assert said in overview
    assert "Spark can’t open it" in html.unescape(person.get("/tables/").content.decode())
    assert person.get(f"/tables/{table.pk}/history/").status_code == 200
    assert "can’t open this table" in html.unescape(person.get(f"/tables/{table.pk}/delete/").content.decode())
    mended(table, harm, name)
    assert syncing.sync(sales.pk, reread_broken=True).health_codes == []
    asked = {"command": "delete", "table": str(sales.pk), "reason": "r", **CHANGES["delete"]}
    assert caller("operator").post("/jobs", asked).status_code == 201


@pytest.mark.parametrize("content", [b"rubbish", b"", b'{"version": 77}'])
def test_a_bad_pointer_is_a_finding_with_its_mending_and_stops_no_change(sales: Table, content: bytes) -> None:
    (log_of(sales) / "_last_checkpoint").write_bytes(content)
    small_delta.append(Path(sales.path), [{"id": 91, "p": "FR"}])
    table = syncing.sync(sales.pk)
    assert table.health_codes == ["last_checkpoint"]
    overview = html.unescape(browser(person_with("operator")).get(f"/tables/{table.pk}/").content.decode())
    assert "Delete _last_checkpoint before you change the table" in overview
    asked = {"command": "delete", "table": str(sales.pk), "reason": "r", **CHANGES["delete"]}
    assert caller("operator").post("/jobs", asked).status_code == 201


def then_listed(table: Table) -> int:
    """Another engine adds the feature that the protocol lacked. Returns the version that no Delta opens."""
    unlisted_feature(table)
    odd = small_delta.head(Path(table.path))
    mended(table, unlisted_feature, "")
    small_delta.append(Path(table.path), [{"id": 70, "p": "FR"}])
    return odd


def asked_of(table: Table, command: str, version: int) -> dict[str, Any]:
    copy = {"target": f"{table.root.uri}/copy", "kind": "shallow"} if command == "clone" else {}
    return {"command": command, "table": str(table.pk), "reason": "r", "version": version, **copy}


LACKS = "can’t open version {}: the protocol doesn’t list checkConstraints"


@pytest.mark.parametrize("command", ["restore", "clone"])
def test_an_older_version_that_no_delta_opens_is_refused_at_the_request(sales: Table, command: str) -> None:
    odd = then_listed(sales)
    answer = caller("operator").post("/jobs", asked_of(sales, command, odd))
    said = answer.json()
    assert (answer.status_code, said["code"]) == (422, "stops_spark"), said
    assert said["engine"]["condition"] == "DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH"
    assert LACKS.format(odd) in said["detail"]
    assert "Choose a version whose protocol lists them" in said["detail"]
    assert not Job.objects.exists()
    later = caller("operator").post("/jobs", asked_of(sales, command, odd + 1))
    assert later.status_code == 201, later.json()


def test_a_restore_s_page_says_so_by_the_older_log_itself(sales: Table) -> None:
    odd = then_listed(sales)
    page = browser(person_with("operator")).get(f"/tables/{sales.pk}/restore/", {"version": str(odd)})
    assert LACKS.format(odd) in html.unescape(page.content.decode())
