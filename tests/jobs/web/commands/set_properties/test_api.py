"""A change of properties by the API: its preview, what Delta would refuse, and secrets."""

from pathlib import Path

import pytest

from jobs.models import Job
from tests.clients import caller
from tests.jobs import small_delta

FEED_COLUMN = {"name": "_change_type", "type": "string", "nullable": True, "metadata": {}}


def ask(who, sales, **more):
    return who.post("/jobs", {"command": "set_properties", "table": str(sales.pk), "reason": "r", **more})


def test_the_api_answers_with_before_after_and_the_protocol(sales):
    answer = ask(caller("operator"), sales, set={"delta.enabledeletionvectors": "true"}, unset=["team"])
    assert answer.status_code == 201
    preview = answer.json()["preview"]
    assert preview["before"] == {"delta.enableDeletionVectors": None, "team": "finance"}
    assert preview["after"] == {"delta.enableDeletionVectors": "true", "team": None}
    assert (preview["class"], preview["violating_rows"]) == ("irreversible", None)
    assert preview["protocol_before"] == {
        "min_reader_version": 1, "min_writer_version": 2, "reader_features": None, "writer_features": None,
    }  # fmt: skip
    assert preview["protocol_after"]["reader_features"] == ["deletionVectors"]
    assert preview["irreversible"]
    reads = {(reader["name"], reader["version"]): reader["reads"] for reader in preview["readers"]}
    assert reads["Spark with Delta Lake", "4.4.0"] is True
    assert reads["Flink connector (Delta Standalone)", "3.0"] is False
    assert "definition_sha256" not in preview


def test_a_property_that_asks_for_no_feature_is_ordinary(sales):
    answer = ask(caller("operator"), sales, set={"delta.checkpointInterval": "50"})
    assert (answer.json()["preview"]["class"], answer.json()["preview"]["irreversible"]) == ("ordinary", [])


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ({"set": {"delta.nosuch": "1"}}, "DELTA_UNKNOWN_CONFIGURATION"),
        ({"set": {"delta.constraints.c": "id > 0"}}, "DELTA_ADD_CONSTRAINTS"),
        ({"set": {"delta.columnMapping.maxColumnId": "5"}}, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
        ({"set": {"delta.columnMapping.mode": "id"}}, "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"),
        ({"set": {"delta.logRetentionDuration": "soon"}}, "DELTA_INVALID_INTERVAL"),
        ({"set": {"delta.deletedFileRetentionDuration": "1.5 days"}}, "DELTA_INVALID_INTERVAL"),
        ({"set": {"delta.deletedFileRetentionDuration": "-1 days"}}, None),
        ({"set": {"delta.feature.nosuch": "supported"}}, "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG"),
        ({"set": {"delta.feature.deletionVectors": "on"}}, "DELTA_UNSUPPORTED_FEATURE_STATUS"),
        ({"set": {"delta.feature.clustering": "supported"}}, "DELTA_ALTER_TABLE_SET_CLUSTERING_TABLE_FEATURE_NOT_ALLOWED"),
        ({"set": {"delta.minReaderVersion": "3"}}, "DELTA_READ_FEATURE_PROTOCOL_REQUIRES_WRITE"),
        ({"set": {"delta.dataSkippingStatsColumns": "nope"}}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ({"set": {"delta.dataSkippingStatsColumns": "id,id"}}, "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS"),
        ({"set": {"delta.dataSkippingStatsColumns": "`id` , id"}}, "DELTA_DUPLICATE_DATA_SKIPPING_COLUMNS"),
        ({"set": {"delta.dataSkippingStatsColumns": "id, `i d`"}}, "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ({"set": {"delta.dataSkippingStatsColumns": "P"}}, "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN"),
        ({"set": {"delta.dataSkippingStatsColumns": "id,"}}, None),
        ({"set": {"delta.dataSkippingStatsColumns": "id p"}}, None),
        ({"set": {"clusteringColumns": "id"}}, "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
        ({"set": {"delta.enableChangeDataCapture": "true"}}, None),
        ({"unset": ["nope"]}, "DELTA_UNSET_NON_EXISTENT_PROPERTY"),
        ({"set": {"delta.checkpointInterval": "0"}}, None),
        ({"set": {"delta.enableDeletionVectors": "maybe"}}, None),
        ({"set": {"delta.logRetentionDuration": "1 day"}}, None),
        ({"set": {"delta.deletedFileRetentionDuration": "60 days"}}, None),
        ({"set": {"delta.inCommitTimestampEnablementVersion": "1"}}, None),
    ],
)  # fmt: skip
def test_the_api_refuses_with_delta_s_condition(sales, given, condition):
    answer = ask(caller("operator"), sales, **given)
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (400, condition)
    assert not Job.objects.exists()


@pytest.mark.parametrize("given", [{}, {"set": {"": "x"}}, {"set": {"a": "1", "A": "2"}}, {"set": {"a": "x\ny"}}])
def test_odd_requests_are_400_and_named(sales, given):
    answer = ask(caller("operator"), sales, **given)
    assert answer.status_code == 400
    assert "set" in answer.json()["fields"]


def test_a_change_feed_needs_its_own_names(sales):
    small_delta.reshape(Path(sales.path), {"type": "struct", "fields": [*small_delta.FIELDS, FEED_COLUMN]})
    answer = ask(caller("operator"), sales, set={"delta.enableChangeDataFeed": "true"})
    assert (answer.status_code, answer.json()["engine"]["condition"]) == (
        400,
        "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS",
    )
    assert "[_change_type]" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["sink.password", "delta.universalFormat.config.iceberg.password"])
def test_a_secret_is_neither_taken_nor_shown(sales, name):
    refused = ask(caller("operator"), sales, set={name: "swordfish"})
    assert refused.status_code == 400
    assert "looks like a secret" in refused.json()["detail"]
    assert "swordfish" not in refused.content.decode()
    made = ask(caller("operator"), sales, unset=["sink.password"])
    assert made.status_code == 201
    assert "hunter2" not in made.content.decode()
    assert "hunter2" not in str(Job.objects.get().preview)
