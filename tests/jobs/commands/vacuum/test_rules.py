"""Retentions, classes, and what Delta is asked with."""

from datetime import timedelta

import pytest

from jobs.commands.vacuum.comparison import compare
from jobs.commands.vacuum.rules import (
    HOUR_MS,
    class_of,
    count_of,
    first_readable_after,
    hours_for_delta,
    retention_of,
    spans_in_words,
    too_short,
)
from jobs.domain.comparison import Verdict
from jobs.domain.results import Result

WEEK, MONTH, HOUR = timedelta(days=7), timedelta(days=30), timedelta(hours=1)


@pytest.mark.parametrize(
    ("hours", "own", "name"),
    [
        (None, WEEK, "ordinary"), (None, HOUR, "short_retention"), (168, WEEK, "ordinary"), (167, WEEK, "short_retention"),
        (0, HOUR, "short_retention"), (24, HOUR, "short_retention"), (200, HOUR, "ordinary"), (None, MONTH, "ordinary"),
    ],
)  # fmt: skip
def test_less_than_seven_days_is_short_whatever_the_table_keeps(hours, own, name):
    assert class_of(retention_of(hours, own)) == name


@pytest.mark.parametrize(
    ("hours", "own", "refused"),
    [(200, MONTH, True), (719, MONTH, True), (720, MONTH, False), (None, MONTH, False), (100, MONTH, False), (168, WEEK, False)],
)  # fmt: skip
def test_what_is_shorter_than_the_table_keeps_and_not_short_is_refused(hours, own, refused):
    failure = too_short(hours, own)
    assert (failure is not None and failure.condition) == (refused and "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT")


@pytest.mark.parametrize(
    ("kept", "own", "hours"),
    [
        (168 * HOUR_MS + 5_000, WEEK, 168),  # asked at once
        (168 * HOUR_MS, WEEK, 168),
        (200 * HOUR_MS + HOUR_MS // 2, WEEK, 200),  # it waited for a day and more
        (90 * 60_000 + 1, timedelta(minutes=90), 2),  # the table keeps no whole hours
        (12 * HOUR_MS + 1, WEEK, 12),  # short
        (-5, WEEK, 0),
    ],
)
def test_delta_is_asked_for_whole_hours_that_keep_no_less_than_the_table(kept, own, hours):
    assert hours_for_delta(1_000_000 * HOUR_MS - kept, 1_000_000 * HOUR_MS, own) == hours


@pytest.mark.parametrize(
    ("readable", "dying", "first"),
    [
        ([(3, 9)], [], 3), ([(3, 9)], [(3, 5)], 6), ([(3, 9)], [(4, 5)], 3), ([(3, 9)], [(3, 9)], 9),
        ([(1, 2), (5, 9)], [(1, 2)], 5), ([(1, 2), (5, 9)], [(1, 2), (5, 6)], 7), ([], [], 9),
    ],
)  # fmt: skip
def test_the_oldest_version_that_stays_readable(readable, dying, first):
    assert first_readable_after(readable, dying, 9) == first


def test_spans_in_words():
    assert spans_in_words([[3, 3]]) == "version 3"
    assert spans_in_words([[3, 8], [11, 11]]) == "versions 3 to 8, 11"
    assert spans_in_words([[n, n] for n in (1, 3, 5, 7, 9)]) == "versions 1, 3, 5 and 2 more ranges"
    assert count_of([[3, 8], [11, 11]]) == 7


def ended(**details):
    return Result(5, "VACUUM END", {"status": "COMPLETED"}, {}, details=details)


def test_a_run_stands_beside_its_prediction():
    preview = {"files": 7, "bytes": 70, "dying_versions": [[2, 3]]}
    lines = compare(preview, ended(files=7, bytes=70, remaining=0, versions_lost=[[2, 3]], same_files=True))
    assert {line.name: line.verdict for line in lines} == dict.fromkeys(
        ("files", "bytes", "remaining", "versions_lost"), Verdict.SAME
    )


def test_fewer_files_than_approved_are_within_the_bound_and_one_that_stays_is_not():
    preview = {"files": 7, "bytes": 70, "dying_versions": []}
    found = {
        line.name: line.verdict for line in compare(preview, ended(files=5, bytes=50, remaining=1, same_files=False))
    }
    assert (found["files"], found["remaining"]) == (Verdict.WITHIN, Verdict.DIFFERENT)
