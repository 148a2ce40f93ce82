from __future__ import annotations

import pytest

from tables.web.charts.axes import nice_steps


@pytest.mark.parametrize(("top", "steps"), [(0, [0]), (10, [0, 5, 10]), (3544, [0, 2000]), (1, [0, 0.5, 1])])
def test_steps_are_round_and_end_below_the_top(top: float, steps: list[float]) -> None:
    assert nice_steps(top) == steps


def test_counts_have_no_half_steps() -> None:
    assert nice_steps(1, 2, least=1) == [0, 1]
    assert nice_steps(3, 3, least=1) == [0, 1, 2, 3]
