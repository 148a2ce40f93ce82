"""Proposed types and their evidence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.partition_values import ValueSet, casts


def proposed(*texts, nulls=0):
    values = ValueSet()
    for text in texts:
        values.add(text)
    values.nulls = nulls
    return values.propose()


@pytest.mark.parametrize(
    ("texts", "type_name", "evidence"),
    [
        (["true", "false"], "boolean", "2 values, each true or false"),
        (["1", "2", "10"], "int", "3 values, whole numbers from “1” to “10”"),
        (["-5"], "int", "1 value, whole numbers “-5”"),
        (
            ["1", "3000000000"],
            "bigint",
            "2 values, whole numbers from “1” to “3000000000”; “3000000000” is too large for int",
        ),
        (
            ["1.5", "2"],
            "decimal(2,1)",
            "2 values, numbers from “1.5” to “2”; “1.5” is not a whole number that bigint holds",
        ),
        (["0.25"], "decimal(2,2)", "1 value, numbers “0.25”; “0.25” is not a whole number that bigint holds"),
        (["9" * 20], "decimal(20,0)", "is not a whole number that bigint holds"),
        (["2024-02-29", "2023-01-01"], "date", "2 values, dates from “2023-01-01” to “2024-02-29”"),
        (
            ["2024-01-01 10:00:00", "2024-01-02"],
            "timestamp",
            "“2024-01-01 10:00:00” has a time of day that date would drop",
        ),
        (["2024-01-01T10:00:00.123456"], "timestamp", "read in UTC"),
        (["FR", "DE"], "string", "2 values; “DE” isn’t a number, date, time or boolean"),
        (["01", "02", "10"], "string", "3 values; all look like numbers, but 2 begin with 0: as int, 01 becomes 1"),
        (["1", "2", "x"], "string", "3 values; 2 of 3 are numbers, but “x” is not"),
        (["2024-01-01", "2024-01-02", "2024-13-01"], "string", "2 of 3 are dates, but “2024-13-01” is not"),
        (["9" * 39], "string", "numbers of 39 digits are more than decimal holds (38)"),
    ],
)
def test_it_proposes_the_narrowest_type_that_gives_every_value_back(texts, type_name, evidence):
    found, why = proposed(*texts)
    assert found == type_name
    assert evidence in why


def test_null_directories_say_nothing_about_the_type_and_are_told():
    assert proposed("1", nulls=2) == ("int", "1 value, whole numbers “1”; 2 NULL directories")
    assert proposed(nulls=1)[0] == "string"


def test_counts_beyond_the_limit_are_lower_bounds_and_the_type_stays_right():
    values = ValueSet(limit=3)
    for text in ("1", "2", "3", "4", "x"):
        values.add(text)
    found, why = values.propose()
    assert found == "string"
    assert why.startswith("more than 3 values")


@given(
    st.lists(st.sampled_from(["1", "02", "2.50", "true", "2024-01-01", "x", "9999999999"]), max_size=8),
    st.integers(0, 8),
)
def test_folding_parts_gives_the_same_proposal_as_one_pass(texts, cut):
    left, right = ValueSet(), ValueSet()
    for text in texts[:cut]:
        left.add(text)
    for text in texts[cut:]:
        right.add(text)
    left.merge(right)
    assert left.propose() == proposed(*texts)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,4})?", fullmatch=True))
def test_a_proposed_number_type_casts_its_values(text):
    found, _ = proposed(text)
    assert casts(found, text)


def test_an_unknown_type_is_an_error():
    with pytest.raises(ValueError, match="blob"):
        casts("blob", "1")
