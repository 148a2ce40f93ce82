"""What values Delta takes for its properties: every one of Delta's own is typed, and refused in Delta's words."""

from pathlib import Path

import pytest

from tables.deltalog.rules.properties import PROPERTIES
from tables.deltalog.rules.property_conflicts import conflicts
from tables.deltalog.rules.property_types import TYPES, ValueKind, canonical, check, features_asked

# As Delta 4.4.0's configs were listed by reflection, in a file beside the log reader's tests.
NAMES = {f"delta.{name}" for name in Path(__file__).with_name("delta_properties.txt").read_text().split()}


def test_every_property_of_delta_has_a_type_and_a_meaning():
    assert set(TYPES) == NAMES == set(PROPERTIES)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_default_is_a_value_that_delta_takes(name):
    default = PROPERTIES[name].default
    if default is not None and TYPES[name].kind is not ValueKind.KEPT and name != "delta.columnMapping.mode":
        assert check(name, default) is None


@pytest.mark.parametrize(
    ("name", "value", "text", "condition"),
    [
        ("checkpointInterval", "0", "delta.checkpointInterval needs to be a positive integer.", None),
        ("checkpointInterval", " 5", "delta.checkpointInterval needs to be a positive integer.", None),
        ("dataSkippingNumIndexedCols", "-2", "needs to be larger than or equal to -1.", None),
        ("randomPrefixLength", "0", "needs to be greater than 0.", None),
        ("enableDeletionVectors", "maybe", 'For input string: "maybe"', None),
        ("checkpointPolicy", "v9", "Invalid policy v9", None),
        ("isolationLevel", "WriteSerializable", "delta.isolationLevel must be Serializable", None),
        ("isolationLevel", "x", "invalid isolation level 'x'", "DELTA_INVALID_ISOLATION_LEVEL"),
        ("logRetentionDuration", "1 month", "Months and years are not accepted", None),
        ("logRetentionDuration", "-3 days", "Months and years are not accepted", None),
        ("logRetentionDuration", "1.5 days", "1.5 days is not a valid INTERVAL.", "DELTA_INVALID_INTERVAL"),
        ("logRetentionDuration", "1 day -25 hours", "Months and years are not accepted", None),
        ("logRetentionDuration", "soon", "soon is not a valid INTERVAL.", "DELTA_INVALID_INTERVAL"),
        ("logRetentionDuration", "", "Interval cannot be null or blank.", "DELTA_INVALID_CALENDAR_INTERVAL_EMPTY"),
        ("minReaderVersion", "9", "needs to be one of 1, 2, 3.", None),
        ("universalFormat.enabledFormats", "x", "Must be a comma-separated list of formats", None),
        ("universalFormat.enabledFormats", "hudi,hudi", "Must be a comma-separated list of formats", None),
        (
            "logRetentionDuration",
            "interval60 days",
            "interval60 days is not a valid INTERVAL.",
            "DELTA_INVALID_INTERVAL",
        ),
        ("redirectWriterOnly-preview", "{}", "Delta keeps delta.redirectWriterOnly-preview itself", None),
        ("parquet.format.version", "9", "Invalid Parquet version string: 9", None),
        ("nosuch", "1", "Unknown configuration was specified: delta.nosuch", "DELTA_UNKNOWN_CONFIGURATION"),
        ("columnMapping.maxColumnId", "5", "cannot be specified by the user", "DELTA_CANNOT_MODIFY_TABLE_PROPERTY"),
    ],
)
def test_a_wrong_value_is_refused_in_delta_s_words(name, value, text, condition):
    fault = check(f"delta.{name}", value)
    assert fault is not None
    assert text in fault.text
    assert fault.condition == condition


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.appendOnly", "TRUE"), ("delta.checkpointInterval", "+5"), ("delta.logRetentionDuration", "interval 2 weeks"),
        ("delta.logRetentionDuration", "interval 2000000.5 seconds"),
        ("delta.columnMapping.mode", "NAME"), ("delta.universalFormat.enabledFormats", "iceberg, hudi"), ("team", "x"),
        ("delta.universalformat.config.iceberg.a", "1"), ("delta.parquet.format.version", "2.12.0"),
    ],
)  # fmt: skip
def test_what_delta_takes_is_taken(name, value):
    assert check(name, value) is None


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({}, {"delta.logRetentionDuration": "1 day"}, "delta.logRetentionDuration(1 days) needs to be greater than or equal to"),
        ({}, {"delta.deletedFileRetentionDuration": "60 days"}, "needs to be less than or equal to delta.logRetentionDuration(30 days)"),
        ({}, {"delta.columnMapping.mode": "id"}, "from 'none' to 'id'"),
        ({"delta.columnMapping.mode": "name"}, {}, "rewrite every file"),
        ({}, {"delta.enableIcebergCompatV2": "true"}, "IcebergCompatV2 requires table property"),
        ({}, {"delta.universalFormat.enabledFormats": "iceberg"}, "Requires IcebergCompat"),
        (
            {},
            {"delta.columnMapping.mode": "name", "delta.enableIcebergCompatV1": "true", "delta.enableIcebergCompatV2": "true"},
            "Only one IcebergCompat version",
        ),
        (
            {"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true"},
            {"delta.columnMapping.mode": "name", "delta.enableRowTracking": "true", "delta.enableIcebergCompatV3": "true"},
            "icebergCompatV3 with RowTracking",
        ),
        (
            {"delta.enableDeletionVectors": "true"},
            {"delta.enableDeletionVectors": "true", "delta.compatibility.symlinkFormatManifest.enabled": "true"},
            "mutually exclusive",
        ),
        ({}, {"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "true"}, "Illegal table state"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(before, after, text):
    assert text in next(conflicts(before, after)).text


@pytest.mark.parametrize(
    "after",
    [
        {"delta.logRetentionDuration": "2 days", "delta.deletedFileRetentionDuration": "1 day"},
        {"delta.columnMapping.mode": "name"},
        {"delta.columnMapping.mode": "name", "delta.enableIcebergCompatV2": "true", "delta.universalFormat.enabledFormats": "iceberg"},
    ],
)  # fmt: skip
def test_what_goes_together_is_taken(after):
    assert list(conflicts({}, after)) == []


def test_features_follow_from_values_and_names_from_any_case():
    asked = {"delta.enableDeletionVectors": "TRUE", "delta.checkpointPolicy": "v2", "delta.appendOnly": "false"}
    assert features_asked(asked) == ["deletionVectors", "v2Checkpoint"]
    assert canonical("DELTA.APPENDONLY") == "delta.appendOnly"
    assert canonical("delta.feature.DeletionVectors") == "delta.feature.deletionvectors"
    assert canonical("delta.universalFormat.config.iceberg.A") == "delta.universalformat.config.iceberg.a"
    assert canonical("Team") == "Team"
    assert features_asked({"delta.enableChangeDataCapture": "true"}) == ["changeDataFeed"]
