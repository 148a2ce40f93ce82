"""Columns by name, and what follows from an optimize."""

from datetime import timedelta

import pytest

from jobs.commands.optimize.rules import consequences_of, name_parts, written_name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        ("`a.b`.c", ["a.b", "c"]),
        ("`a``b`", ["a`b"]),
    ],
)
def test_a_name_is_taken_apart_at_its_dots_and_written_back(text, parts):
    assert name_parts(text) == parts
    assert written_name(parts) == text


@pytest.mark.parametrize("text", ["", "a.", ".a", "a..b", "`a", "`a`b", "a`b`"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match="no column’s name"):
        name_parts(text)


def test_deletion_vectors_are_said_where_there_are_some():
    week = timedelta(days=7)
    plain = consequences_of(retention=week, num_bytes=1, vectors=0)
    assert [said["code"] for said in plain] == ["rows_unchanged", "bytes_stay"]
    *_, vectors = consequences_of(retention=week, num_bytes=1, vectors=1)
    assert vectors["code"] == "vectors_go"
    assert "in 1 file aren’t written again" in vectors["text"]


def test_nothing_is_claimed_of_files_that_nobody_has_counted():
    *_, stay = consequences_of(retention=timedelta(days=7), num_bytes=None, vectors=0)
    assert "if there are any" in stay["text"]
