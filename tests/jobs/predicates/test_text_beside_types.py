"""A text beside a column of another type is held against that type at once: what Spark would fail on never gets as far as a count."""

import pytest

from jobs.domain.errors import CommandRefused, EngineFailure, remedy_of
from jobs.lifecycle.endings import engine_failed
from jobs.predicates.reading import parse
from tests.jobs.predicates.making import ROW, SCHEMA

# Of each type that isn't text: a text that Spark reads as it, and some that it doesn't.
READ = {
    "bigint": "5", "int": "-7", "smallint": "+3", "tinyint": "1", "decimal(10,2)": "1.50", "decimal(38,10)": "1e3", "double": "0.5",
    "float": "-2", "date": "2020-01-31", "timestamp": "2020-01-31 10:00:00", "timestamp_ntz": "2020-01-31", "boolean": "true",
}  # fmt: skip
COLUMNS = [field.name for field in ROW if field.type in READ and "`" not in field.name]
TYPES = {field.name: field.type for field in ROW}
TESTS = (
    "{} < {}",
    "{1} >= {0}",
    "{} <=> {}",
    "NOT ({} <> {})",
    "{0} BETWEEN {1} AND {1}",
    "{} IN ({})",
    "ok OR {} = {}",
)


def spelled(test, column, text):
    return test.format(column, f"'{text}'")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("text", ["abc", "", "-", "é", "1_0x", "many", "1.2.3"])
def test_a_text_that_is_no_such_value_is_refused_at_once(column, text):
    for test in TESTS:
        with pytest.raises(CommandRefused) as refused:
            parse(spelled(test, column, text), SCHEMA)
        [refusal] = refused.value.refusals
        assert refusal.code == "predicate_refused"
        assert f"'{text}'" in refusal.message, (test, refusal.message)


@pytest.mark.parametrize("column", COLUMNS)
def test_one_that_is_stays_accepted(column):
    for test in TESTS:
        assert parse(spelled(test, column, READ[TYPES[column]]), SCHEMA)


@pytest.mark.parametrize("column", ["price", "big", "d", "f"])
@pytest.mark.parametrize("text", ["NaN", "nan", "Infinity", "-inf", "+Infinity", " inf "])
def test_the_words_that_spark_reads_as_numbers_are_left_to_it(column, text):
    assert parse(f"{column} < '{text}'", SCHEMA)


@pytest.mark.parametrize(
    "cast", ["CAST('abc' AS DOUBLE)", "CAST('abc' AS FLOAT)", "CAST('abc' AS DECIMAL(10,2))", "CAST('' AS DOUBLE)"]
)
def test_a_constant_cast_is_held_against_its_type_too(cast):
    with pytest.raises(CommandRefused):
        parse(f"d < {cast}", SCHEMA)


def test_a_cast_that_fails_on_a_row_advises_nothing_that_the_grammar_refuses():
    failure = EngineFailure("CAST_INVALID_INPUT", "22018", "The value 'abc' can’t be cast. Use `try_cast` instead.")
    assert "TRY_CAST isn’t supported here" in engine_failed(failure, "Nothing was committed.")["what_to_do"]
    assert remedy_of("DELTA_X") is remedy_of(None) is None
