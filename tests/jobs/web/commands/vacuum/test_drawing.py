"""A vacuum drawn: the versions after it, and the bytes that other retentions would free."""

from datetime import UTC, datetime

import pytest

from jobs.web.commands.vacuum.drawing import curve, in_words
from tables.history.reachability import LOSES_FILES, Span, without

AT, LATER = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 9, tzinfo=UTC)


def span(first, last, *, restorable=True, why=None):
    return Span(
        first=first,
        last=last,
        first_at=AT,
        last_at=LATER,
        in_log=True,
        restorable=restorable,
        change_feed=False,
        why=why,
    )


def shown(spans):
    return [(each.first, each.last, each.restorable) for each in spans]


@pytest.mark.parametrize(
    ("dying", "left"),
    [
        ([], [(0, 2, False), (3, 9, True)]), ([[4, 5]], [(0, 2, False), (3, 3, True), (4, 5, False), (6, 9, True)]),
        ([[3, 4]], [(0, 2, False), (3, 4, False), (5, 9, True)]), ([[9, 9]], [(0, 2, False), (3, 8, True), (9, 9, False)]),
        ([[3, 3], [5, 6]], [(0, 2, False), (3, 3, False), (4, 4, True), (5, 6, False), (7, 9, True)]),
    ],
)  # fmt: skip
def test_versions_that_die_are_cut_out_of_the_readable_ones(dying, left):
    assert shown(without([span(0, 2, restorable=False, why="Too old."), span(3, 9)], dying)) == left


def test_a_version_that_dies_says_why_and_the_others_keep_their_reason():
    cut = without([span(0, 2, restorable=False, why="Too old."), span(3, 9)], [[3, 4]])
    assert [each.why for each in cut] == ["Too old.", LOSES_FILES, None]
    assert [(each.first_at, each.last_at) for each in cut] == [(AT, LATER), (AT, None), (None, LATER)]


def rows(*sizes):
    return [{"hours": hours, "files": 1, "bytes": size} for hours, size in zip((0, 24, 168), sizes, strict=False)]


def test_the_curve_falls_from_its_highest_point_and_names_each_retention():
    line = curve(rows(1 << 20, 1 << 19, 0))
    assert line is not None
    heights = [float(point.split()[1]) for point in line.parts[0].removeprefix("M").split("L")]
    assert heights == sorted(heights)
    assert [tick.text for tick in line.below] == ["0 h", "1 d", "7 d"]


@pytest.mark.parametrize("given", [[], rows(1 << 20), rows(0, 0, 0), rows(1 << 20, None, 0)])
def test_there_is_no_curve_of_nothing(given):
    assert curve(given) is None


@pytest.mark.parametrize(("hours", "words"), [(0, "0 h"), (6, "6 h"), (24, "1 d"), (36, "36 h"), (2_160, "90 d")])
def test_retentions_in_words(hours, words):
    assert in_words(hours) == words
