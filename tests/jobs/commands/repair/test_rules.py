"""What follows from a repair, in words, and its result beside its prediction."""

from typing import Any

import pytest

from jobs.commands.repair.comparison import compare
from jobs.commands.repair.rules import LostFiles, consequences_of
from jobs.commands.repair.wording import facts, figures, outcome, title, weight
from jobs.domain.comparison import Verdict
from jobs.domain.results import Result

PREVIEW: dict[str, Any] = {
    "files": 2, "rows": 30, "bytes": 900, "files_total": 5, "partitions": 1, "measured_at_version": 7,
}  # fmt: skip


def texts(loss: LostFiles, *, change_feed: bool = False) -> dict[str, str]:
    return {each["code"]: each["text"] for each in consequences_of(loss, change_feed=change_feed)}


@pytest.mark.parametrize(
    ("rows", "said"), [(None, "How many they are isn’t known."), (1, "The row of"), (1_200, "The 1,200 rows of")]
)
def test_the_rows_that_are_lost_are_said_and_unknown_is_no_number(rows, said):
    assert said in texts(LostFiles(7, 2, rows))["rows_lost"]


def test_it_says_how_the_rows_can_come_back_and_that_a_restore_alone_cannot():
    told = texts(LostFiles(1_007, 2, 30))["not_by_restore"]
    assert told.startswith("A restore doesn’t bring them back")
    assert "Once the files are in storage again, a restore of version 1,007 does" in told


def test_readers_of_the_feed_are_told_where_there_is_one():
    assert "change_feed" not in texts(LostFiles(7, 2, 30))
    assert "fail" in texts(LostFiles(7, 2, 30), change_feed=True)["change_feed"]


def test_what_is_left_is_said():
    told = texts(LostFiles(7, 2, 30, vectors=1, outside=3))
    assert told["vectors_missing"].startswith(
        "One file stays though nobody can read it: the file of its deletion vector"
    )
    assert told["outside"].startswith("3 files lie outside")
    assert not {"vectors_missing", "outside"} & set(texts(LostFiles(7, 2, 30)))


def test_before_storage_is_asked_no_number_is_given():
    assert "asked_first" in texts(LostFiles(7, None, None))
    unasked = PREVIEW | {"files": None, "rows": None, "bytes": None, "partitions": None}
    assert [figure.value for figure in figures(unasked)] == [None] * 3
    assert {figure.why_unknown for figure in figures(unasked)} == {"a worker asks storage first"}
    assert facts(unasked) == {}


def test_titles_and_figures_have_the_numbers():
    assert title("sales", {}, {}) == "Repair sales: take missing files out"
    assert title("sales", {}, {"files": 1}) == "Repair sales: take 1 missing file out"
    assert title("sales", {}, {"files": 1_200}) == "Repair sales: take 1,200 missing files out"
    assert [(figure.label, figure.value) for figure in figures(PREVIEW)] == [
        ("Missing files", 2), ("Rows lost", 30), ("Bytes", 900),
    ]  # fmt: skip
    lost = weight(PREVIEW | {"rows": None})
    assert lost is not None
    assert (lost.value, "doesn’t record" in lost.why_unknown) == (None, True)
    assert (figures({}), weight({}), facts(PREVIEW)) == ([], None, {"Partitions": "1"})


def test_the_result_stands_beside_the_prediction():
    result = Result(8, "FSCK", details={"files": 2, "bytes": 900, "rows": 29})
    assert {line.name: line.verdict for line in compare(PREVIEW, result)} == {
        "files": Verdict.SAME, "bytes": Verdict.SAME, "rows": Verdict.DIFFERENT,
    }  # fmt: skip
    assert [figure.value for figure in outcome(result)] == [2, 29, 900]


def test_rows_that_the_log_does_not_tell_are_compared_with_nothing():
    result = Result(8, "FSCK", details={"files": 2, "bytes": 900, "rows": None})
    rows = {line.name: line for line in compare(PREVIEW | {"rows": None}, result)}["rows"]
    assert (rows.verdict, rows.why) == (
        Verdict.UNKNOWN, "The log doesn’t record how many rows some of the files held.",
    )  # fmt: skip


def test_a_commit_that_could_not_be_read_is_compared_with_nothing():
    lines = list(compare(PREVIEW, Result(8, "FSCK", details={"text": "…"})))
    assert {(line.verdict, line.why) for line in lines} == {
        (Verdict.UNKNOWN, "The commit’s own actions couldn’t be read.")
    }
