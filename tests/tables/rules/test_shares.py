"""Shares as a person reads them."""

import pytest

from tables.rules.shares import percent


@pytest.mark.parametrize(
    ("part", "whole", "text"), [(0, 7, "0%"), (7, 7, "100%"), (1, 1_000, "< 1%"), (999, 1_000, "> 99%"), (1, 3, "33%")]
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: int, whole: int, text: str) -> None:
    assert percent(part, whole) == text


def test_a_share_has_as_many_decimals_as_asked_for() -> None:
    assert (percent(1, 3, 1), percent(1, 3_000, 1), percent(2_999, 3_000, 1)) == ("33.3%", "< 0.1%", "> 99.9%")
