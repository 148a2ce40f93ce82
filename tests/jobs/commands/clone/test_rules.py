"""What follows from a clone, by its kind, and what lies in what."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from jobs.commands.clone.rules import consequences_of, is_at_or_below


@pytest.mark.parametrize(
    ("depth", "features", "is_newest", "codes"),
    [
        ("shallow", [], True, ["depends_on_source", "read_elsewhere", "own_history"]),
        ("deep", ["rowTracking"], False, ["independent", "own_history", "new_row_ids", "older_version"]),
        ("deep", ["somethingNew", "appendOnly"], True, ["independent", "own_history", "loses_features"]),
    ],
)
def test_each_kind_has_its_consequences(depth, features, is_newest, codes):
    week = timedelta(days=7)
    found = consequences_of(depth=depth, source="sales", features=features, is_newest=is_newest, retention=week)
    assert [each["code"] for each in found] == codes


def test_it_says_how_long_the_source_keeps_what_the_clone_needs():
    until = datetime(2026, 11, 30, 12, 5, tzinfo=UTC)
    kept = timedelta(hours=36)
    of = partial(consequences_of, depth="shallow", source="sales", features=(), is_newest=False, retention=kept)
    said = {each["code"]: each["text"] for each in of(until=until)}
    assert "A file that sales no longer needs is kept for 36 hours;" in said["depends_on_source"]
    assert said["older_version"].endswith(
        "removes them there, which its own retention allows from 2026-11-30 12:05 UTC."
    )
    [older] = [each["text"] for each in of() if each["code"] == "older_version"]
    assert older.endswith("only until VACUUM removes them there.")


@pytest.mark.parametrize(
    ("path", "top", "expected"),
    [("/a/b", "/a/b", True), ("/a/b/c", "/a/b", True), ("/a/bc", "/a/b", False), ("/a", "/a/b", False)],
)
def test_a_place_is_below_by_whole_names(path, top, expected):
    assert is_at_or_below(path, top) is expected
