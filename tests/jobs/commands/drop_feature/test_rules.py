"""How Delta goes about a dropped feature: its steps, the protocol afterwards, what nobody can take back."""

from datetime import UTC, datetime

import pytest

from jobs.commands.drop_feature.comparison import compare
from jobs.commands.drop_feature.rules import (
    DROPPED,
    PROTECTION,
    DropFeature,
    consequences_of,
    irreversible_of,
    is_done,
    protocol_after,
    steps_of,
    way_of,
)
from jobs.domain.comparison import Verdict
from jobs.domain.delta.protocols import DeltaProtocol, protocol_with
from jobs.domain.results import Result

PLAIN = DeltaProtocol(1, 2)
VECTORS = protocol_with(PLAIN, ["deletionVectors"])
READY = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)


def drop(feature, *, cut=False):
    return DropFeature("t", feature, cut)


@pytest.mark.parametrize(
    ("command", "way"),
    [
        (drop("rowTracking"), "plain"),
        (drop("checkConstraints"), "plain"),
        (drop("deletionVectors"), "fast"),
        (drop("columnMapping"), "fast"),
        (drop("deletionVectors", cut=True), "truncate"),
        (drop(PROTECTION, cut=True), "truncate"),
    ],
)
def test_only_what_readers_need_too_is_protected_or_cut(command, way):
    assert way_of(command) == way


def test_a_fast_drop_leaves_the_protection_and_a_cut_one_nothing():
    fast = protocol_after(VECTORS, drop("deletionVectors"))
    assert fast.features == PLAIN.features | {PROTECTION}
    assert protocol_after(VECTORS, drop("deletionVectors", cut=True)) == PLAIN


def test_the_two_steps_name_the_wait_and_once_the_first_is_done_its_end():
    fresh = steps_of(drop("deletionVectors", cut=True), "1 day")
    assert len(fresh) == 3
    assert "without the rows that these hide" in fresh[0]
    assert "You wait 1 day" in fresh[1]
    waiting = steps_of(drop("deletionVectors", cut=True), "1 day", READY)
    assert waiting[0] == "First request: done. The table no longer uses the feature."
    assert waiting[1] == "You wait until 2026-11-25 09:30 UTC."
    assert waiting[2] == fresh[2]


def test_the_protection_goes_once_its_old_versions_have_left_the_log():
    assert "until they have left the log" in steps_of(drop(PROTECTION, cut=True), "1 day")[1]
    assert "until 2026-11-25 09:30 UTC" in steps_of(drop(PROTECTION, cut=True), "1 day", READY)[1]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (drop("deletionVectors"), f"The table gets {PROTECTION}"),
        (drop("deletionVectors", cut=True), "all versions that are older than 1 day by then"),
        (drop("rowTracking"), "ids are lost"),
    ],
)
def test_what_nobody_can_take_back_is_said(command, text):
    [said] = irreversible_of(command, "1 day")
    assert text in said


def test_consequences_name_the_files_the_haste_and_who_still_reads():
    told = consequences_of(drop("deletionVectors", cut=True), 8, is_early=True, needed_by=["The stream late reads."])
    assert [each["code"] for each in told] == ["several_commits", "files_rewritten", "writers", "too_early", "needed"]
    assert [each["code"] for each in consequences_of(drop("inCommitTimestamp"), 8)] == ["several_commits", "writers"]


def test_it_is_done_when_a_commit_took_it_out():
    assert is_done(["EMPTY COMMIT", DROPPED])
    assert not is_done(["EMPTY COMMIT", None])


def verdicts(details):
    preview = {"protocol_before": VECTORS.as_json(), "protocol_after": PLAIN.as_json()}
    return {line.verdict for line in compare(preview, Result(3, DROPPED, details=details))}


def test_the_result_is_held_against_the_step_that_was_taken():
    later = READY.isoformat()
    assert verdicts({"protocol_after": PLAIN.as_json()}) == {Verdict.SAME}
    assert verdicts({"protocol_after": VECTORS.as_json(), "ask_again_after": later}) == {Verdict.SAME}
    assert Verdict.SAME not in verdicts({"protocol_after": VECTORS.as_json()})
    assert Verdict.SAME not in verdicts({})
