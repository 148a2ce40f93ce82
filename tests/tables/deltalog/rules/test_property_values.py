"""Property values as other writers leave them: which Delta reads, and for which it opens no version. On Spark: tests/jobs/engine."""

from __future__ import annotations

import pytest

from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.property_types import TYPES
from tables.deltalog.rules.property_values import (
    failing_values,
    locked_values,
    quiet_values,
    retention_values,
    stopping_value,
    uncommitted_values,
    unreadable,
)

BY_VERSIONS, BY_LISTS = Protocol(1, 2, None, None), Protocol(1, 7, None, ())
READ = {
    "delta.appendOnly": ["true", "FALSE"],
    "delta.checkpointInterval": ["10", "-9", "+5", "\u0663"],
    "delta.dataSkippingNumIndexedCols": ["0"],
    "delta.logRetentionDuration": ["interval 5 days", "1 month", "-1 days"],
    "delta.deletedFileRetentionDuration": ["-1 days"],
    "delta.parquet.format.version": ["1.0.0", "2.12.0-rc1"],
    "delta.columnMapping.mode": ["NAME", "none"],
    "delta.isolationLevel": ["snapshotIsolation", "SERIALIZABLE"],
    "delta.checkpointPolicy": ["v2"],
    "delta.minReaderVersion": ["3", "9"],
    "delta.dataSkippingStatsColumns": ["nope"],
    "delta.universalFormat.enabledFormats": ["odd"],
    "team": ["yes"],
}
UNREAD = {
    "delta.appendOnly": ["yes", "1", "", " true"],
    "delta.checkpointInterval": ["x", "1.5", "9999999999", "", "1 ", "0"],
    "delta.logRetentionDuration": ["soon", ""],
    "delta.deletedFileRetentionDuration": ["soon", "1 month"],
    "delta.columnMapping.mode": ["odd"],
    "delta.isolationLevel": ["odd"],
    "delta.checkpointPolicy": ["V2"],
    "delta.minReaderVersion": ["odd"],
    "delta.parquet.format.version": ["2", "v1.0.0"],
}


@pytest.mark.parametrize("name", READ)
def test_what_delta_reads_has_no_fault(name: str) -> None:
    assert [value for value in READ[name] if unreadable(name, value) is not None] == []


@pytest.mark.parametrize("name", UNREAD)
def test_what_delta_can_not_read_has_one_in_its_words(name: str) -> None:
    assert [value for value in UNREAD[name] if unreadable(name, value) is None] == []


def test_a_value_without_which_delta_writes_no_checkpoint_fails_no_change() -> None:
    values = {"delta.checkpoint.writeStatsAsStruct": "odd"}
    assert [unread.name for unread in quiet_values(values)] == list(values)
    assert failing_values(values) == []


@pytest.mark.parametrize("value", ["odd", "0", "-1"])
def test_the_length_of_a_prefix_is_read_where_prefixes_are_random(value: str) -> None:
    length, random = "delta.randomPrefixLength", "delta.randomizeFilePrefixes"
    assert [unread.name for unread in failing_values({length: value, random: "true"})] == [length]
    assert failing_values({length: value, random: "false"}) == []
    assert failing_values({length: "2", random: "true"}) == []


def test_a_feature_s_property_stops_delta_where_the_protocol_lists_features() -> None:
    values = {"delta.appendOnly": "yes", "delta.checkpointInterval": "x"}
    assert stopping_value(BY_VERSIONS, values) is None
    assert str(stopping_value(BY_LISTS, values)) == "delta.appendOnly: yes"
    assert [unread.name for unread in failing_values(values)] == ["delta.appendOnly", "delta.checkpointInterval"]
    assert [unread.name for unread in uncommitted_values(values)] == ["delta.appendOnly"]


@pytest.mark.parametrize("protocol", [BY_VERSIONS, BY_LISTS])
def test_some_stop_it_by_any_protocol(protocol: Protocol) -> None:
    assert stopping_value(protocol, {"delta.deletedFileRetentionDuration": "soon"}) is not None


def test_a_property_that_nothing_reads_on_the_way_stands_in_no_way() -> None:
    assert failing_values({"delta.rowTrackingSuspended": "yes", "delta.appendonly": "yes", "appendOnly": "yes"}) == []


def test_every_property_of_a_feature_is_looked_at() -> None:
    asked = {name for name, known in TYPES.items() if known.feature is not None and known.choices}
    assert {unread.name for unread in failing_values(dict.fromkeys(asked, "odd"))} == asked


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("y" * 5_000, "y" * 59 + "…"),
        ("s3://key:hunter2@bucket", "a text of 23 characters"),
        ("a\nb\u202e", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
    ],
)
@pytest.mark.parametrize(
    "name", ["delta.appendOnly", "delta.checkpointInterval", "delta.isolationLevel", "delta.parquet.format.version"]
)
def test_a_value_is_told_short_plain_and_without_a_credential(name: str, value: str, told: str) -> None:
    (found,) = failing_values({name: value})
    assert str(found) == f"{name}: {told}"
    assert told in found.fault.text


def test_what_a_change_of_properties_reads_before_it_locks_them() -> None:
    times = {"delta.enableInCommitTimestamps": "yes"}
    assert [unread.name for unread in locked_values(times, {"delta.enableInCommitTimestamps": "true"})] == list(times)
    assert locked_values(times, {}) == []
    assert locked_values({"delta.enableIcebergCompatV1": "yes"}, {}) != []


def test_a_retention_of_the_log_without_a_length_can_not_be_compared() -> None:
    log = "delta.logRetentionDuration"
    assert [str(unread) for unread in retention_values({log: "soon"})] == [f"{log}: soon"]
    assert [unread.fault.condition for unread in retention_values({log: "1 month"})] == ["INTERNAL_ERROR"]
    assert retention_values({log: "3 days"}) == retention_values({}) == []
