"""Partitions as a condition that Levee's own reader of predicates takes."""

from __future__ import annotations

import pytest

from jobs.domain.predicates.schema import Field, Schema
from jobs.predicates.reading import parse
from tables.rules.partition_predicates import Values, predicate_of

DAYS = {"day": "date"}
BOTH = {"day": "date", "land of": "string"}
SCHEMA = Schema((Field("day", "date"), Field("land of", "string"), Field("n", "bigint")))


@pytest.mark.parametrize(
    ("partitions", "types", "text"),
    [
        ([{"day": "2026-10-01"}], DAYS, "day = '2026-10-01'"),
        ([{"day": "2026-10-01"}, {"day": "2026-10-02"}], DAYS, "day IN ('2026-10-01', '2026-10-02')"),
        ([{"day": "2026-10-01"}, {"day": None}], DAYS, "day = '2026-10-01' OR day IS NULL"),
        ([{"day": None}], DAYS, "day IS NULL"),
        ([{"n": "-7"}, {"n": "12"}], {"n": "long"}, "n IN (-7, 12)"),
        ([{"day": "2026-10-01", "land of": "Côte d'Ivoire \\"}], BOTH, "day = '2026-10-01' AND `land of` = 'Côte d\\'Ivoire \\\\'"),
        (
            [{"day": "2026-10-01", "land of": "FR"}, {"day": None, "land of": "DE"}],
            BOTH,
            "(day = '2026-10-01' AND `land of` = 'FR') OR (day IS NULL AND `land of` = 'DE')",
        ),
    ],
)  # fmt: skip
def test_partitions_are_named_by_a_condition_that_can_be_read_again(
    partitions: list[Values], types: dict[str, str], text: str
) -> None:
    assert predicate_of(partitions, types) == text
    assert parse(text, SCHEMA)


@pytest.mark.parametrize(
    ("partitions", "types"),
    [
        ([], DAYS),
        ([{"n": "007"}], {"n": "long"}),
        ([{"day": "yesterday"}], DAYS),
        ([{"at": "2026-10-01 00:00:00"}], {"at": "timestamp"}),
        ([{"p": "a\nb"}], {"p": "string"}),
        ([{"day": "2026-10-01", "at": "x"}], {"day": "date", "at": "timestamp"}),
    ],
)
def test_values_without_a_sure_text_are_not_named(partitions: list[Values], types: dict[str, str]) -> None:
    assert predicate_of(partitions, types) is None
