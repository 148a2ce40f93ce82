from datetime import timedelta
from pathlib import Path

import pytest

from tables.deltalog.read.actions import Protocol
from tables.deltalog.rules.features import FEATURES, demands, features_of, implied_features, understand
from tables.deltalog.rules.properties import PROPERTIES, property_of, settings, unset
from tables.deltalog.rules.retention import LONGEST, deleted_file_retention, log_retention, parse_interval

LEGACY = {
    (1, 1): [],
    (1, 2): ["appendOnly", "invariants"],
    (1, 3): ["appendOnly", "checkConstraints", "invariants"],
    (1, 4): ["appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"],
    (1, 5): ["appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants"],
    (2, 5): ["appendOnly", "changeDataFeed", "checkConstraints", "columnMapping", "generatedColumns", "invariants"],
    (2, 6): [
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "generatedColumns",
        "identityColumns",
        "invariants",
    ],
}


@pytest.mark.parametrize("versions", LEGACY)
def test_a_legacy_protocol_implies_its_features(versions):
    assert list(implied_features(Protocol(versions[0], versions[1], None, None))) == LEGACY[versions]


def test_a_protocol_that_lists_features_implies_none():
    protocol = Protocol(3, 7, ("deletionVectors",), ("appendOnly", "deletionVectors"))
    assert implied_features(protocol) == ()
    assert features_of(protocol) == ("appendOnly", "deletionVectors")


def test_demands_are_told_for_readers_and_writers():
    appends, vectors = demands(Protocol(3, 7, ("deletionVectors",), ("appendOnly", "deletionVectors")))
    assert (appends.readers, appends.implied, appends.removable) == (None, False, False)
    assert "deletion vector" in (vectors.readers or "")
    assert vectors.removable


def test_an_unknown_feature_of_writers_alone_does_not_stop_reading():
    protocol = Protocol(1, 7, None, ("timeMachine",))
    assert understand(protocol).needs == ()
    (demand,) = demands(protocol)
    assert (demand.known, demand.readers) == (False, None)


def test_a_table_that_a_catalog_owns_is_said_to_need_it():
    assert understand(Protocol(3, 7, ("catalogManaged",), ("catalogManaged",))).texts == (
        "needs feature catalogManaged",
    )


def test_every_feature_says_what_it_demands():
    for feature in FEATURES.values():
        assert feature.writers.endswith(".")
        assert feature.readers is None or feature.readers.endswith(".")


def test_the_deltas_own_property_names_are_all_known():
    facts = Path(__file__).with_name("delta_properties.txt").read_text().split()
    assert sorted(PROPERTIES) == sorted(f"delta.{name}" for name in facts)


def test_settings_carry_default_and_meaning():
    found = {
        item.name: item for item in settings({"delta.appendOnly": "true", "mine": "x", "delta.constraints.c": "id > 0"})
    }
    assert (found["delta.appendOnly"].default, found["delta.appendOnly"].value) == ("false", "true")
    assert found["mine"].meaning is None
    assert "CHECK" in (found["delta.constraints.c"].meaning or "")


def test_defaults_that_hold_are_listed_once():
    names = [item.name for item in unset({"DELTA.appendonly": "true"})]
    assert "delta.appendOnly" not in names
    assert "delta.checkpointInterval" in names
    assert names == sorted(names)


def test_a_property_is_found_whatever_its_case():
    assert property_of("DELTA.AppendOnly") is PROPERTIES["delta.appendOnly"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interval 1 week", timedelta(weeks=1)),
        ("INTERVAL 30 days", timedelta(days=30)),
        ("168 hours", timedelta(weeks=1)),
        ("interval 1 day 12 hours 5 minutes", timedelta(days=1, hours=12, minutes=5)),
        ("0 seconds", timedelta()),
        ("7 milliseconds 3 microseconds", timedelta(milliseconds=7, microseconds=3)),
        ("1 month", None),
        ("interval 2 years", None),
        ("-1 days", None),
        ("interval", None),
        ("week", None),
        ("1 week and a bit", None),
        ("9999999999999 days", None),
        ("interval 36 hours", timedelta(hours=36)),
        ("interval 1.5 days", None),
        ("36.0 hours", None),
        ("1.5 seconds", timedelta(seconds=1.5)),
        (".25 second", timedelta(seconds=0.25)),
        ("1 day -1.0000019 seconds", timedelta(hours=24, seconds=-1, microseconds=-1)),
        ("1.0123456789 seconds", None),
        (". seconds", None),
        ("2 days - 12 hours", timedelta(hours=36)),
        ("12 hours -1 day", None),
        ("0 years 2 months -2 months 3 days", timedelta(days=3)),
        ("interval\t3 days", None),
        ("3\t days\n2 hours", timedelta(days=3, hours=2)),
        ("\u0663 days", None),
        ("2147483647 microseconds 40000 days", LONGEST),
        ("2147483648 days", None),
        ("200000000 days", None),
        ("3 dayss", None),
        ("1" * 10_000, None),
    ],
)
def test_durations_are_read_as_delta_reads_them(text, expected):
    assert parse_interval(text) == expected


def test_a_duration_that_can_not_be_read_leaves_the_default():
    assert deleted_file_retention({"delta.deletedFileRetentionDuration": "soon"}) == timedelta(weeks=1)
    assert log_retention({"delta.logRetentionDuration": "interval 3 days"}) == timedelta(days=3)


def test_the_defaults_of_durations_agree_with_the_properties():
    files, log = PROPERTIES["delta.deletedFileRetentionDuration"], PROPERTIES["delta.logRetentionDuration"]
    assert parse_interval(files.default or "") == deleted_file_retention({})
    assert parse_interval(log.default or "") == log_retention({})
