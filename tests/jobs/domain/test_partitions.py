"""Partition schemas: what the parser takes, what it refuses and where, and Delta's words about directories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.errors import CommandRefused
from jobs.domain.partitions import (
    PartitionField,
    PartitionLayout,
    ValueMisfit,
    check_layout,
    parse_schema,
    print_schema,
)

DIRECTORY = "file:/lake/orders/p=1/part-0.parquet"


def refusal(text):
    with pytest.raises(CommandRefused) as caught:
        parse_schema(text)
    assert len(caught.value.refusals) == 1
    return caught.value.refusals[0]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("day date, country string", [("day", "date"), ("country", "string")]),
        ("  day   DATE ,\n country STRING ", [("day", "date"), ("country", "string")]),
        ("`a ``b` int", [("a `b", "int")]),
        ("n: long", [("n", "bigint")]),
        ("t timestamp", [("t", "timestamp")]),
        ("t `timestamp`", [("t", "timestamp")]),
        (
            "_p tinyint, x byte, y short, z integer",
            [("_p", "tinyint"), ("x", "tinyint"), ("y", "smallint"), ("z", "int")],
        ),
        ("a decimal", [("a", "decimal(10,0)")]),
        ("a decimal(12)", [("a", "decimal(12,0)")]),
        ("a numeric(38, 38), b real", [("a", "decimal(38,38)"), ("b", "float")]),
        ("größe double, 日 boolean", [("größe", "double"), ("日", "boolean")]),
    ],
)
def test_it_reads_names_and_types(text, fields):
    assert [(field.name, field.type) for field in parse_schema(text)] == fields


def test_no_schema_is_no_columns():
    assert parse_schema(None) == ()


@pytest.mark.parametrize(
    ("text", "position", "word"),
    [
        ("", 1, "column name"),
        ("   ", 4, "column name"),
        ("day", 4, "type"),
        ("day date,", 10, "column name"),
        ("day foo", 5, "foo"),
        ("day date country string", 10, "comma"),
        ("day date; DROP TABLE x", 9, "comma"),
        ("day date) NO STATISTICS --", 9, "comma"),
        ("p int) ; DELETE FROM delta.`/lake/t", 6, "comma"),
        ("day date COMMENT 'x'", 10, "comma"),
        ("day date NOT NULL", 10, "comma"),
        ("a array<int>", 3, "array"),
        ("a struct<x:int>", 3, "struct"),
        ("a decimal(39,0)", 15, "38"),
        ("a decimal(3,4)", 14, "38"),
        ("a decimal(x)", 11, "number"),
        ("a decimal(3", 12, "bracket"),
        ("`` int", 1, "column name"),
        ("`unclosed int", 1, "column name"),
        ("a timestamp_ntz", 3, "timestamp_ntz"),
        ("a binary", 3, "binary"),
        ("a varchar(3)", 3, "varchar"),
        ("/* x */ a int", 1, "column name"),
    ],
)
def test_it_refuses_with_position_and_reason(text, position, word):
    found = refusal(text)
    assert found.code == "partition_mismatch"
    assert found.place == f"position {position}"
    assert word in found.message


@pytest.mark.parametrize(
    ("text", "condition", "sqlstate", "words"),
    [
        ("p foo", "UNSUPPORTED_DATATYPE", "0A000", 'Unsupported data type "FOO".'),
        ("p Foo( 3 )", "UNSUPPORTED_DATATYPE", "0A000", 'Unsupported data type "FOO(3)".'),
        ("p int(3)", "UNSUPPORTED_DATATYPE", "0A000", 'Unsupported data type "INT(3)".'),
        ("p", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near end of input."),
        ("p int,", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near end of input."),
        ("p int country string", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near 'country'."),
        ("p int; drop", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near ';'."),
        ("p int) x", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near ')'."),
        ("p decimal(x)", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near 'x'."),
        ("p decimal(3", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near end of input."),
        ("`p int", "PARSE_SYNTAX_ERROR", "42601", "Syntax error at or near '`'."),
        (
            "p decimal(39,0)",
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            "22003",
            "Decimal precision 39 exceeds max precision 38.",
        ),
        (
            "p int, P int",
            "DELTA_DUPLICATE_COLUMNS_FOUND.METADATA_UPDATE",
            "42711",
            "Found duplicate column(s): p. The duplicate was found in the metadata update.",
        ),
    ],
)
def test_a_refusal_carries_sparks_words(text, condition, sqlstate, words):
    engine = refusal(text).engine
    assert (engine.condition, engine.sqlstate, engine.message) == (condition, sqlstate, words)


@pytest.mark.parametrize("text", ["p binary", "p varchar(3)", "p int NOT NULL", "p int COMMENT 'x'", "`` int"])
def test_what_spark_would_take_is_levees_own_refusal(text):
    assert refusal(text).engine is None


def test_it_refuses_a_column_named_twice_whatever_its_case():
    assert refusal("day date, DAY string").place == "DAY"


def test_it_refuses_a_schema_of_any_length():
    assert "longer" in refusal("a int, " * 5000).message


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
TYPES = st.sampled_from(
    ["boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "string", "decimal(5,2)"]
)


@given(st.lists(st.tuples(NAMES, TYPES), min_size=1, max_size=4, unique_by=lambda pair: pair[0].lower()))
def test_what_is_printed_is_read_back(pairs):
    fields = tuple(PartitionField(name, kind) for name, kind in pairs)
    assert parse_schema(print_schema(fields)) == fields


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        fields = parse_schema(text)
    except CommandRefused:
        return
    assert parse_schema(print_schema(fields)) == fields


def test_a_fitting_layout_has_nothing_to_say():
    schema = parse_schema("day date, country string")
    assert check_layout(schema, [PartitionLayout(("Day", "COUNTRY"), 3, DIRECTORY)]) == ()


@pytest.mark.parametrize(
    ("ddl", "columns", "condition", "text"),
    [
        (
            None,
            ("p",),
            "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
            "Expecting 0 partition column(s): [], but found 1 partition column(s): [`p`] from parsing the file name: ",
        ),
        (
            "a int, b int",
            ("a",),
            "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
            "Expecting 2 partition column(s): [`a`, `b`], but found 1 partition column(s): [`a`] from parsing the file name: ",
        ),
        (
            "q int",
            ("p",),
            "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME",
            "Expecting partition column `q`, but found partition column `p` from parsing the file name: ",
        ),
        (
            "b int, a int",
            ("a", "b"),
            "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME",
            "Expecting partition column `b`, but found partition column `a` from parsing the file name: ",
        ),
    ],
)
def test_a_wrong_layout_is_told_in_deltas_words(ddl, columns, condition, text):
    (found,) = check_layout(parse_schema(ddl), [PartitionLayout(columns, 1, DIRECTORY)])
    assert (found.code, found.place) == ("partition_mismatch", DIRECTORY)
    assert found.engine is not None
    assert (found.engine.condition, found.engine.sqlstate) == (condition, "KD009")
    assert found.engine.message == text + DIRECTORY


def test_a_value_that_no_cast_reads_is_named():
    (field,) = parse_schema("p decimal(4,1)")
    (found,) = check_layout([field], [], [ValueMisfit(field, "x1", "/lake/orders/p=x1")])
    assert found.engine is not None
    assert found.engine.condition == "DELTA_FAILED_CAST_PARTITION_VALUE"
    assert found.engine.message == "Failed to cast partition value `x1` to DecimalType(4,1)"
    assert found.place == "/lake/orders/p=x1"
