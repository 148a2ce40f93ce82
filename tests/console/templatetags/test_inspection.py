import pytest

from console.templatetags import inspection


@pytest.mark.parametrize(
    ("name", "text"),
    [("day", "day"), ("loaded at", "`loaded at`"), ("a`b", "`a``b`"), ("1st", "`1st`"), ("größe", "`größe`")],
)
def test_names_are_quoted_where_a_statement_needs_it(name, text):
    assert inspection.as_identifier(name) == text


def test_a_timestamp_stands_in_backquotes_in_a_partition_schema():
    assert inspection.as_type("timestamp") == "`timestamp`"
    assert inspection.as_type("date") == "date"


def test_columns_that_disagree_come_first_and_the_rest_are_equal():
    rows = inspection.schema_rows(
        {
            "conflicts": [
                {"column": "qty", "types": {"smallint": 2, "int": 3}, "fatal": False, "text": "widened"},
                {"column": "amount", "types": {"int": 3, "bigint": 1}, "fatal": True, "text": "conflict"},
            ],
            "schema": {"fields": [{"name": "qty", "type": "integer"}, {"name": "id", "type": "long"}]},
        }
    )
    assert [(row.word, row.column, row.type) for row in rows] == [
        ("conflict", "amount", "int, bigint"),
        ("merged", "qty", "smallint, int"),
        ("same", "id", "bigint"),
    ]


def test_a_schema_that_can_not_be_merged_shows_what_is_known():
    assert inspection.schema_rows({"conflicts": [], "schema": None}) == []
