"""Protocols after features are switched on and dropped, as Delta writes them."""

import pytest

from jobs.domain.delta.protocols import (
    FEATURES,
    DeltaProtocol,
    closure,
    feature_of,
    irreversible,
    protocol_at_least,
    protocol_with,
    protocol_without,
    rises,
)
from tables.deltalog.rules import features as log_reader

PLAIN = DeltaProtocol(1, 2)


def listed(reader: int, *features: str, readers: tuple[str, ...] = ()) -> DeltaProtocol:
    return DeltaProtocol(reader, 7, tuple(sorted(readers)) if reader == 3 else None, tuple(sorted(features)))


BASE = ("appendOnly", "invariants")


@pytest.mark.parametrize(
    ("before", "features", "after"),
    [
        (PLAIN, ["appendOnly"], PLAIN),
        (PLAIN, ["checkConstraints"], DeltaProtocol(1, 3)),
        (PLAIN, ["changeDataFeed"], listed(1, *BASE, "changeDataFeed")),
        (DeltaProtocol(1, 3), ["changeDataFeed", "generatedColumns"], DeltaProtocol(1, 4)),
        (PLAIN, ["columnMapping"], listed(2, *BASE, "columnMapping")),
        (DeltaProtocol(1, 4), ["columnMapping"], DeltaProtocol(2, 5)),
        (PLAIN, ["deletionVectors"], listed(3, *BASE, "deletionVectors", readers=("deletionVectors",))),
        (PLAIN, ["rowTracking"], listed(1, *BASE, "domainMetadata", "rowTracking")),
        (
            listed(2, *BASE, "columnMapping"),
            ["v2Checkpoint"],
            listed(3, *BASE, "columnMapping", "v2Checkpoint", readers=("columnMapping", "v2Checkpoint")),
        ),
        (
            DeltaProtocol(2, 6),
            ["inCommitTimestamp"],
            listed(
                2, *BASE, "changeDataFeed", "checkConstraints", "columnMapping", "generatedColumns", "identityColumns",
                "inCommitTimestamp",
            ),
        ),
    ],
)  # fmt: skip
def test_a_protocol_takes_the_weakest_form_that_has_its_features(before, features, after):
    assert protocol_with(before, features) == after
    assert rises(before, after) == (before != after)


@pytest.mark.parametrize(
    ("before", "feature", "after"),
    [
        (listed(3, *BASE, "deletionVectors", readers=("deletionVectors",)), "deletionVectors", PLAIN),
        (DeltaProtocol(1, 3), "checkConstraints", PLAIN),
        (listed(1, *BASE, "inCommitTimestamp"), "inCommitTimestamp", PLAIN),
        (listed(2, *BASE, "columnMapping", "domainMetadata"), "columnMapping", listed(1, *BASE, "domainMetadata")),
    ],
)
def test_a_dropped_feature_lowers_it_again(before, feature, after):
    assert protocol_without(before, feature) == after


@pytest.mark.parametrize(
    ("reader", "writer", "after"),
    [(3, 7, PLAIN), (1, 1, PLAIN), (0, 4, DeltaProtocol(1, 4)), (2, 5, DeltaProtocol(2, 5)), (0, 7, PLAIN)],
)
def test_versions_asked_for_count_by_the_features_that_they_imply(reader, writer, after):
    assert protocol_at_least(PLAIN, reader, writer) == after


def test_a_feature_that_delta_does_not_know_stays_where_it_is_listed():
    strange = listed(3, *BASE, "dream", readers=("dream",))
    after = protocol_with(strange, ["deletionVectors"])
    assert after.reader_features == ("deletionVectors", "dream")
    assert after.writer_features == ("appendOnly", "deletionVectors", "dream", "invariants")


def test_what_cannot_be_taken_back_is_said_once_for_each_kind():
    feed = irreversible(PLAIN, protocol_with(PLAIN, ["changeDataFeed"]))
    assert any("Delta can’t drop the feature changeDataFeed" in text for text in feed)
    vectors = irreversible(PLAIN, protocol_with(PLAIN, ["deletionVectors"]))
    assert any("Only DROP FEATURE" in text for text in vectors)
    assert irreversible(PLAIN, PLAIN) == []


def test_features_are_those_of_the_log_reader():
    """One list of what Delta knows, in two rooms: their names, versions and whether they can be dropped are the same."""
    assert set(FEATURES) == set(log_reader.FEATURES)
    for name, feature in FEATURES.items():
        other = log_reader.FEATURES[name]
        assert (feature.reader, feature.writer) == other.legacy if feature.legacy else other.legacy is None, name
        assert feature.for_readers == (other.readers is not None), name
        assert feature.removable == other.removable, name


def test_required_features_come_along_and_names_have_any_case():
    assert closure(["icebergCompatV3"]) == {"icebergCompatV3", "columnMapping", "rowTracking", "domainMetadata"}
    vectors = feature_of("DELETIONVECTORS")
    assert vectors is not None
    assert vectors.name == "deletionVectors"
    assert feature_of("nosuch") is None


def test_it_is_stored_and_read_back():
    protocol = protocol_with(PLAIN, ["deletionVectors"])
    assert DeltaProtocol.from_json(protocol.as_json()) == protocol
    assert DeltaProtocol.from_json(PLAIN.as_json()) == PLAIN
