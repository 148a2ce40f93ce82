"""Members of actions whose JSON is of another kind than Delta's schema: what Spark's reader makes of each."""

from __future__ import annotations

from typing import Any

# By action and member: values that no commit may have if Spark is to open the table.
STOPPING: dict[tuple[str, str], list[Any]] = {
    ("commitInfo", "job"): ["job-7", 7, ["a"]],
    ("commitInfo", "notebook"): ["n"],
    ("commitInfo", "tags"): ["x"],
    ("commitInfo", "version"): ["x", 1.5],
    ("commitInfo", "readVersion"): ["x", "5", True, 2**63],
    ("commitInfo", "isBlindAppend"): ["yes", 1, "true"],
    ("commitInfo", "inCommitTimestamp"): ["2020-01-01T00:00:00Z"],
    ("commitInfo", "operationParameters"): ["x", []],
    ("commitInfo", "operationMetrics"): [5],
    ("add", "size"): ["12", 1.5],
    ("add", "modificationTime"): ["2020", 1.5],
    ("add", "dataChange"): ["true"],
    ("add", "tags"): ["x"],
    ("add", "baseRowId"): ["1"],
    ("remove", "deletionTimestamp"): ["2020"],
    ("remove", "extendedFileMetadata"): ["true"],
    ("remove", "tags"): [["x"]],
    ("cdc", "size"): ["1"],
    ("cdc", "tags"): ["x"],
    ("metaData", "createdTime"): ["2020"],
    ("metaData", "format"): ["parquet"],
    ("txn", "lastUpdated"): ["2020"],
}
# Values that Spark takes, whatever Levee makes of them.
TAKEN: dict[tuple[str, str], list[Any]] = {
    ("commitInfo", "job"): [{}, {"jobId": 5, "any": [1]}],
    ("commitInfo", "timestamp"): ["2020", "2020-01-01T00:00:00Z", 5],
    ("commitInfo", "operation"): [5, {"a": 1}],
    ("commitInfo", "userMetadata"): [{"a": 1}, 5],
    ("commitInfo", "engineInfo"): [{"a": 1}],
    ("commitInfo", "clusterId"): [5],
    ("commitInfo", "note"): [{"any": [1]}],
    ("commitInfo", "operationParameters"): [{"a": {"b": 1}, "c": [1], "d": None, "e": 1.5}],
    ("commitInfo", "readVersion"): [-5],
    ("add", "stats"): [{"numRecords": 1}, 5, '{"numRecords": "x"}', "x"],
    ("add", "modificationTime"): [-5],
    ("add", "clusteringProvider"): [5],
    ("remove", "stats"): [{"numRecords": 1}],
    ("metaData", "name"): [5],
    ("metaData", "createdTime"): [-5],
}


def actions(odd: tuple[str, str], value: Any) -> list[dict[str, Any]]:
    """A commit of an add, a remove, a file of the change feed, a transaction and its own words, one of whose members is `value`."""
    made: dict[str, dict[str, Any]] = {
        "commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE", "operationParameters": {}},
        "add": {"path": "new.parquet", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True},
        "remove": {"path": "old.parquet", "deletionTimestamp": 0, "dataChange": True},
        "cdc": {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1, "dataChange": False},
        "txn": {"appId": "app", "version": 1},
    }
    action, member = odd
    if action == "metaData":
        schema = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
        given = {"format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "configuration": {}}
        made["metaData"] = {"id": "t", "schemaString": schema, "createdTime": 0, **given}
    made[action][member] = value
    return [{name: action} for name, action in made.items()]
