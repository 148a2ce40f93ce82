"""What a change of properties asks for and what follows from it, and the comparison with what Delta did."""

from urllib.parse import parse_qsl

import pytest

from jobs.commands.set_properties.comparison import compare
from jobs.commands.set_properties.rules import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_PROPERTIES,
    SET,
    UNSET,
    Loss,
    SetProperties,
    consequences_of,
    faults_of,
    final_of,
    missing_commits,
    opposite_of,
)
from jobs.domain.comparison import Verdict
from jobs.domain.delta.protocols import DeltaProtocol, protocol_with
from jobs.domain.results import Result

PLAIN = DeltaProtocol(1, 2)
VECTORS = protocol_with(PLAIN, ["deletionVectors"])


def asked(**more):
    return SetProperties("t", **more)


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (asked(), "set"),
        (asked(set={"": "1"}), "set"),
        (asked(set={" a": "1"}), "set"),
        (asked(set={"a\nb": "1"}), "set"),
        (asked(set={"a" * (LONGEST_NAME + 1): "1"}), "set"),
        (asked(set={"a": "x" * (LONGEST_VALUE + 1)}), "set"),
        (asked(set={"a": "x\ny"}), "set"),
        (asked(set={"a": "1"}, unset=["A"]), "set"),
        (asked(set={str(n): "1" for n in range(MOST_PROPERTIES + 1)}), "set"),
        (asked(unset=[" "]), "unset"),
    ],
)
def test_a_request_that_no_table_could_take_has_a_named_fault(command, field):
    assert set(faults_of(command)) == {field}


def test_a_request_at_every_bound_has_none():
    most = {f"{n:0{LONGEST_NAME}d}": "x" * LONGEST_VALUE for n in range(MOST_PROPERTIES - 1)}
    assert faults_of(asked(set=most, unset=["team"])) == {}


def codes(before, after, losses=()):
    return [each["code"] for each in consequences_of(before, after, next_version=7, losses=losses, num_files=3)]


@pytest.mark.parametrize(
    ("name", "before", "after", "code"),
    [
        ("delta.enableChangeDataFeed", None, "true", "change_feed_begins"),
        ("delta.enableChangeDataFeed", "true", None, "change_feed_ends"),
        ("delta.enableRowTracking", "false", "TRUE", "backfill"),
        ("delta.enableDeletionVectors", "true", "false", "vectors_stay"),
        ("delta.columnMapping.mode", None, "name", "streams"),
    ],
)
def test_what_a_switch_brings_is_said_only_when_it_turns(name, before, after, code):
    assert code in codes({name: before}, {name: after})
    assert codes({name: after}, {name: after}) == ["rows_unchanged"]


def test_history_that_goes_is_said_before_those_who_need_it():
    loss = Loss("Versions up to 3 leave the log.", ["The stream late needs version 2."])
    assert codes({}, {}, [loss]) == ["history", "needed", "rows_unchanged"]


def test_the_opposite_sets_what_was_set_and_unsets_what_was_not():
    link = opposite_of({"a": "1", "b": None, "c": "same"}, {"a": None, "b": "x & y", "c": "same"})
    assert parse_qsl(link) == [("set", "a=1"), ("unset", "b")]
    assert opposite_of({"c": "same"}, {"c": "same"}) == ""


def test_column_mapping_has_no_opposite_and_its_default_is_no_change():
    name = "delta.columnMapping.mode"
    assert opposite_of({name: None, "b": None}, {name: "name", "b": "1"}) == "unset=b"
    assert final_of({name: "none"}, {name: "name"}) != []
    assert final_of({name: None}, {name: "none"}) == []
    assert codes({name: None}, {name: "none"}) == ["rows_unchanged"]


def test_half_a_run_lacks_the_second_commit():
    both = asked(set={"a": "1"}, unset=["b"])
    assert missing_commits(both, [SET]) == [UNSET]
    assert missing_commits(both, ["UPGRADE PROTOCOL", SET, UNSET]) == []
    assert missing_commits(asked(unset=["b"]), []) == [UNSET]


def lines(details):
    preview = {"after": {"team": "me", "old": None}, "protocol_after": VECTORS.as_json()}
    return {line.name: line.verdict for line in compare(preview, Result(3, SET, details=details))}


def test_a_run_as_predicted_is_the_same_in_every_line():
    done = lines({"after": {"team": "me", "old": None}, "protocol_after": VECTORS.as_json()})
    assert len(done) == 5
    assert set(done.values()) == {Verdict.SAME}


def test_another_value_and_another_protocol_are_seen_and_a_run_cut_short_is_not_known():
    other = lines({"after": {"team": "you"}, "protocol_after": PLAIN.as_json()})
    assert (other["team"], other["old"], other["features"]) == (Verdict.DIFFERENT, Verdict.SAME, Verdict.DIFFERENT)
    assert Verdict.SAME not in lines({}).values()
