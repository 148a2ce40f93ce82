"""Statistics as other hands write them: what is odd is unknown for its own file, and no text ends the process that reads it."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest

from jobs.pruning.statistics import WantedColumn, bounds_of

GOOD = json.dumps({"numRecords": 1, "minValues": {"n": 1}, "maxValues": {"n": 2}, "nullCount": {"n": 0}})
WANTED = [("n", "int"), ("d", "double"), ("born", "date"), ("at", "timestamp"), ("local", "timestamp_ntz")]
READER = """
import json, sys
from tests.jobs.pruning.test_statistics import bounds
for texts in json.load(sys.stdin):
    print(json.dumps(bounds(texts, "n")), flush=True)
"""


def bounds(texts, name):
    """(lowest, highest) of a column for each text."""
    wanted = [WantedColumn((column,), kind) for column, kind in WANTED]
    found = bounds_of(pa.chunked_array([texts], pa.string()), pa.nulls(len(texts), pa.int64()), wanted, 32)[(name,)]
    return list(zip(found.low.to_pylist(), found.high.to_pylist(), strict=True))


def test_no_text_ends_the_process_that_reads_it():
    """Arrow's reader of JSON dies of a `null` before its first object, so another process reads these."""
    odd = [
        "null",
        " null",
        "\nnull",
        "\ufeffnull",
        "null null",
        "",
        "  ",
        "[]",
        "[null]",
        "5",
        "nul",
        "NaN",
        "-",
        "{",
        "}",
    ]
    odd += ["{" * 30_000, '{"a":' * 50_000 + "1" + "}" * 50_000, "\0" + GOOD, "/*", "{}\0{}", '{"minValues":null}']
    groups = [group for text in odd for group in ([text], [text, GOOD], [None, text, GOOD], [GOOD, text])]
    found = subprocess.run(
        [sys.executable, "-c", READER], input=json.dumps(groups), capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, f"it died of {groups[found.stdout.count(chr(10))]!r}: {found.stderr[-2000:]}"
    told = [json.loads(line) for line in found.stdout.splitlines()]
    assert told == [[[1, 2] if text == GOOD else [None, None] for text in group] for group in groups]


@pytest.mark.parametrize("texts", [[GOOD + GOOD, ""], ["{}" + GOOD, "  "], [GOOD + "\n" + GOOD, "null"]])
def test_two_objects_in_one_text_are_not_taken_for_the_next_ones(texts):
    assert bounds([*texts, GOOD], "n") == [(None, None), (None, None), (1, 2)]


def test_blanks_and_line_breaks_around_and_in_an_object_are_read():
    spread = json.dumps(json.loads(GOOD), indent=2)
    assert bounds([f" \n{spread}\r\n", GOOD], "n") == [(1, 2), (1, 2)]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_finite_number_is_no_bound(word):
    text = '{"minValues":{"d":%s},"maxValues":{"d":%s}}'
    assert bounds([text % (word, word), text % (1.5, 2.5)], "d") == [(None, None), (1.5, 2.5)]


@pytest.mark.parametrize(
    ("name", "odd"),
    [
        ("born", "2021-02-30"),
        ("born", "2021-13-01"),
        ("at", "2021-02-30T00:00:00Z"),
        ("at", "2021-01-01T25:00:00Z"),
        ("at", "2021-01-01T00:00:00+99:00"),
        ("local", "2021-02-29T00:00:00"),
        ("local", "2021-01-01T00:61:00"),
    ],
)
def test_a_day_that_there_is_not_takes_no_other_files_bounds_away(name, odd):
    sound = {"born": "2020-02-29", "at": "2020-02-29T00:00:00Z", "local": "2020-02-29T00:00:00"}[name]
    texts = [json.dumps({"minValues": {name: day}, "maxValues": {name: day}}) for day in (sound, odd, sound)]
    first, second, third = bounds(texts, name)
    assert None not in first
    assert first == third
    assert second == (None, None)


def test_statistics_of_a_megabyte_are_passed_over():
    long = json.dumps({"minValues": {"n": 1, "t": "x" * (1 << 20)}})
    assert bounds([long, GOOD], "n") == [(None, None), (1, 2)]


@pytest.mark.parametrize("text", [GOOD, '{"minValues":{"n":{"x":1}},"nullCount":{"n":{"x":0}}}'])
@pytest.mark.parametrize("turned", [False, True])
def test_of_two_columns_with_one_place_no_more_is_said_than_is_known(text, turned):
    wanted = [WantedColumn(("n",), "int"), WantedColumn(("n", "x"), "int")]
    found = bounds_of(pa.chunked_array([[text]]), pa.nulls(1, pa.int64()), wanted[::-1] if turned else wanted, 32)
    assert set(found) == {("n",), ("n", "x")}
    assert found[("n",)].may_null.to_pylist() in ([True], [False])
