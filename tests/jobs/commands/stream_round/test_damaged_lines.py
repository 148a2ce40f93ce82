"""Where the damaged lines that a stream leaves out are counted, and how a round and its batches say it; without Spark."""

from __future__ import annotations

import pytest

from jobs.commands.stream_round import wording
from jobs.commands.stream_round.damaged_lines import FILTERED, NO_COLUMN, WHOLE_FILES, leaves_out, why_uncounted
from jobs.commands.stream_round.rules import Definition, FileSource, Steps, TableSource
from jobs.commands.stream_round.spark.batches import Batches
from jobs.commands.stream_round.spark.damaged_lines import OBSERVED, damaged_of
from jobs.domain.results import Result
from tests.jobs.commands.stream_round.landing import FIELDS, struct

COUNT_ALL = Steps(count_as="n")
FILTER = Steps(filter={"any": "tree"})


def definition(
    form: str = "json", steps: Steps | None = None, *, mode: str = "DROPMALFORMED", fields=FIELDS, **options: str
):
    source = FileSource("/lake/landing", form, struct(fields), {"mode": mode, **options})
    return Definition(source, "/lake/t", "/lake/c", steps=steps or Steps())


@pytest.mark.parametrize(
    ("form", "mode", "leaves"),
    [
        ("json", "DROPMALFORMED", True),
        ("csv", "dropmalformed", True),
        ("json", "PERMISSIVE", False),
        ("csv", "FAILFAST", False),
        ("text", "DROPMALFORMED", False),
    ],
)
def test_one_mode_of_parsed_formats_leaves_lines_out(form, mode, leaves):
    assert leaves_out(definition(form, mode=mode).source) is leaves


def test_a_table_has_no_lines():
    source = TableSource("t", "/lake/s", "id")
    assert not leaves_out(source)
    assert why_uncounted(Definition(source, "/lake/t", "/lake/c")) == ""


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (definition(), ""),
        (definition("csv"), ""),
        (definition("csv", FILTER), ""),
        (definition("json", FILTER), FILTERED),
        (definition("json", FILTER, mode="PERMISSIVE"), ""),
        (definition(multiLine="true"), WHOLE_FILES),
        (definition(multiLine="false"), ""),
        (definition("csv", COUNT_ALL), NO_COLUMN),
        (definition("csv", Steps(group_by=["name"], count_as="n")), ""),
        (definition(fields=FIELDS | {"_corrupt_record": "string"}), ""),
        (definition(steps=Steps(select=["_corrupt_record"]), fields=FIELDS | {"_corrupt_record": "string"}), NO_COLUMN),
        (
            definition(
                steps=Steps(rename={"_corrupt_record": "damage"}, select=["DAMAGE"]),
                fields=FIELDS | {"_corrupt_record": "string"},
            ),
            NO_COLUMN,
        ),
        (definition(steps=Steps(rename={"id": "key"}, select=["Key"])), ""),
    ],
)
def test_they_are_counted_where_that_writes_the_same_rows(given, why):
    assert why_uncounted(given) == why


@pytest.mark.parametrize(
    ("observed", "damaged"),
    [
        ({OBSERVED: {"read": 3, "damaged": 1}}, 1),
        ({OBSERVED: {"read": 3, "damaged": 0}}, 0),
        ({OBSERVED: {"read": 0, "damaged": 0}}, None),  # the plan that counts didn't run
        ({}, None),
        (None, None),
    ],
)
def test_a_batch_that_saw_no_line_tells_no_number(observed, damaged):
    assert damaged_of({"batchId": 1, "observedMetrics": observed}) == damaged


def test_a_progress_of_an_older_round_tells_no_number():
    assert damaged_of({"batchId": 1}) is None


def told(*damaged: int | None) -> list[dict]:
    return [
        {"batch_id": number, "input_rows": 5, "rows_out": 4, "skipped": False, "damaged_lines": lines}
        for number, lines in enumerate(damaged)
    ]


@pytest.mark.parametrize(
    ("damaged", "text"),
    [
        ((1, None), "2 batches: 10 rows in, 2 commits. 1 damaged line was left out."),
        ((2, 1_000), "2 batches: 10 rows in, 2 commits. 1,002 damaged lines were left out."),
        ((0, 0), "2 batches: 10 rows in, 2 commits."),
    ],
)
def test_a_round_says_how_many_it_left_out(damaged, text):
    assert Batches(told(*damaged), len(damaged), None).text() == text


@pytest.mark.parametrize(
    ("batches", "value"),
    [
        (told(1, 2), [3]),
        (told(0), [0]),
        (told(1, None), [None]),
        (told(None, None), []),
        ([{"batch_id": 1, "input_rows": 5, "rows_out": 4}], []),  # of a round from before
    ],
)
def test_the_figures_of_a_round_have_them_once_a_batch_has_counted(batches, value):
    figures = wording.outcome(Result(3, "STREAMING UPDATE", details={"batches": batches}))
    assert [figure.value for figure in figures if figure.label == "Damaged lines left out"] == value
