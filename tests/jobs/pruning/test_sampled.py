"""Which of the files that Delta skips are read without skipping, and how what is found in them is said."""

import pyarrow as pa
import pytest

from jobs.pruning.skipping import MOST_BYTES, MOST_FILES, note_of, sampled


def files(*sizes):
    return pa.table(
        {"path": [f"{place}-{size}" for place, size in enumerate(sizes)], "size": pa.array(sizes, pa.int64())}
    )


@pytest.mark.parametrize(
    ("sizes", "taken"),
    [
        ([7], [7]),
        ([30, 10, 20], [10, 20, 30]),
        (list(range(MOST_FILES + 5, 0, -1)), list(range(1, MOST_FILES + 1))),
        ([MOST_BYTES, 5], [5]),
        ([MOST_BYTES - 5, 5], [5, MOST_BYTES - 5]),
        ([MOST_BYTES + 9, MOST_BYTES + 8], [MOST_BYTES + 8]),
    ],
)
def test_the_smallest_are_taken_as_many_as_can_be_waited_for(sizes, taken):
    assert [int(path.partition("-")[2]) for path in sampled(files(*sizes))] == taken


@pytest.mark.parametrize(
    ("files", "rows", "of", "text"),
    [
        (1, 0, 1, "this file holds no matching row."),
        (1, 1, 1, "this file holds 1 matching row: the delete would leave it."),
        (1, 2, 31, "1 of these 31 files holds 2 matching rows: the delete would leave them."),
        (20, 1_400, 3_100, "20 of these 3,100 files hold 1,400 matching rows: the delete would leave them."),
        (3, 0, 3, "these files hold no matching row."),
    ],
)
def test_what_was_found_is_said_of_all_or_of_some(files, rows, of, text):
    assert note_of(files, rows, of) == f"Read without data skipping, {text}"
