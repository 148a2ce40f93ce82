"""The branch that Delta will take and why, and sums that are never less than the truth."""

import pytest

from jobs.domain.errors import CommandRefused
from tests.jobs.pruning.tables import add, column, prediction, stats, write

DV = {"features": ["deletionVectors"], "properties": {"delta.enableDeletionVectors": "true"}}


def files():
    return [
        add(0, stats(10, {"n": 1}, {"n": 10}, {"n": 0}), {"country": "FR"}),
        add(1, stats(20, {"n": 11}, {"n": 20}, {"n": 0}), {"country": "DE"}, vector=5),
        add(2, stats(40, {"n": 21}, {"n": 30}, {"n": 0}), {"country": "DE"}),
    ]


@pytest.mark.parametrize(
    ("text", "more", "branch", "matched"),
    [
        (None, {}, "metadata_only", 3),
        ("country = 'DE'", {}, "metadata_only", 2),
        ("country = 'XX'", {}, "nothing", 0),
        ("n > 15", {}, "rewrite", 2),
        ("n > 15", DV, "deletion_vectors", 2),
        ("n > 15", {"features": ["deletionVectors"]}, "rewrite", 2),
        ("n > 15", {"properties": {"delta.enableDeletionVectors": "true"}}, "rewrite", 2),
        ("n > 99", DV, "nothing", 0),
        ("country = 'DE' AND n > 25", {}, "rewrite", 1),
        ("country = 'DE' OR country IS NULL", DV, "metadata_only", 2),
    ],
)
def test_the_branch(tmp_path, text, more, branch, matched):
    found = prediction(write(tmp_path, files(), partitions=["country"], **more), text)
    assert (found.branch, found.files_matched, found.files_total) == (branch, matched, 3)
    assert found.why


def test_rows_and_bytes_are_upper_bounds(tmp_path):
    found = prediction(write(tmp_path, files(), partitions=["country"]), "n > 15")
    assert (found.rows_matched, found.rows_matched_exact, found.rows_least) == (15 + 40, False, 40)
    assert (found.bytes_matched, found.bytes_to_rewrite, found.files_to_rewrite) == (500, 500, 2)
    assert found.partitions == 1
    assert found.kind == "ordinary"


def test_whole_files_are_counted_exactly(tmp_path):
    found = prediction(write(tmp_path, files(), partitions=["country"]), "country = 'DE'")
    assert (found.rows_matched, found.rows_matched_exact, found.files_whole) == (55, True, 2)
    assert found.bytes_to_rewrite == 0


@pytest.mark.parametrize("text", [None, "n >= 1", "country IS NOT NULL", "country IN ('FR', 'DE')"])
def test_what_matches_every_row_is_whole_table(tmp_path, text):
    assert prediction(write(tmp_path, files(), partitions=["country"]), text).kind == "whole_table"


def test_unknown_rows_stay_unknown(tmp_path):
    found = prediction(write(tmp_path, [add(0, None), add(1, stats(10, {}, {}, {}))]), "n = 1")
    assert (found.rows_matched, found.rows_matched_exact) == (None, False)
    assert "1 of 2 files" in " ".join(found.notes)
    assert found.partitions is None


@pytest.mark.parametrize(("rows", "vector"), [(0, None), (5, 5)])
def test_files_without_a_visible_row_go_by_the_log_alone(tmp_path, rows, vector):
    empty = add(9, stats(rows, {}, {}, {}), {"country": "IT"}, vector=vector)
    table = write(tmp_path, [*files(), empty], partitions=["country"])
    found = prediction(table, "country = 'IT'")
    assert (found.branch, found.files_matched, found.rows_matched, found.rows_matched_exact) == (
        "metadata_only",
        1,
        0,
        True,
    )
    assert "1 matching file holds no rows: Delta removes it from the log all the same." in found.notes
    assert not any("holds no rows" in note for note in prediction(table, "country = 'IT' AND n > 1").notes)


def test_a_table_without_files_has_nothing_to_delete(tmp_path):
    found = prediction(write(tmp_path, []), None)
    assert (found.branch, found.files_total, found.rows_matched, found.kind) == ("nothing", 0, 0, "whole_table")


def test_an_append_only_table_is_refused_with_deltas_condition(tmp_path):
    table = write(tmp_path, files(), partitions=["country"], properties={"delta.appendOnly": "TRUE"})
    with pytest.raises(CommandRefused) as caught:
        prediction(table, "country = 'XX'")
    (refusal,) = caught.value.refusals
    assert refusal.code == "append_only"
    assert refusal.engine is not None
    assert refusal.engine.condition == "DELTA_CANNOT_MODIFY_APPEND_ONLY"


def test_it_speaks_the_apis_words(tmp_path):
    value = prediction(write(tmp_path, files(), partitions=["country"]), None).as_json()
    assert value["class"] == "whole_table"
    assert value["speed"] == "log"
    assert value["measured_at_version"] == 0


INNER = {"type": "struct", "fields": [column("x", "integer")]}
MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.mark.parametrize(
    "columns",
    [
        [column("a", "integer", physical="p"), column("b", "integer", physical="p")],
        [column("a", "integer", physical="p"), column("b", INNER, physical="p")],
        [column("a", INNER, physical="p"), column("b", "integer", physical="p")],
        [
            column(
                "s",
                {"type": "struct", "fields": [column("a", "integer", physical="p"), column("b", INNER, physical="p")]},
            )
        ],
    ],
)
def test_columns_that_share_a_physical_name_are_refused_in_words(tmp_path, columns):
    statistics = stats(10, {"p": 1}, {"p": 1}, {"p": 0})
    snapshot = write(tmp_path, [add(0, statistics)], columns=columns, properties=MAPPED)
    path = "s.a" if columns[0]["name"] == "s" else "a"
    for text in (None, f"{path} IS NULL"):
        with pytest.raises(CommandRefused) as caught:
            prediction(snapshot, text)
        (refusal,) = caught.value.refusals
        assert refusal.code == "unreadable"
        assert "under the name p" in refusal.message


def test_a_physical_name_matters_only_where_columns_are_mapped(tmp_path):
    columns = [column("a", "integer", physical="p"), column("b", "integer", physical="p")]
    snapshot = write(tmp_path, [add(0, stats(10, {"a": 1}, {"a": 1}, {"a": 0}))], columns=columns)
    assert prediction(snapshot, "a = 5").files_matched == 0
