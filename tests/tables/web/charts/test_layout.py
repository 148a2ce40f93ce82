from __future__ import annotations

import pytest

from tables.web.charts.axes import BOTTOM, TOP
from tables.web.charts.layout import histogram, skew


def test_a_histogram_has_a_bar_per_class_and_hatches_small_files() -> None:
    rows: list[dict[str, int | None]] = [
        {"from": 0, "to": 2**20, "files": 5, "bytes": 1},
        {"from": 2**20, "to": 2**25, "files": 10, "bytes": 1},
        {"from": 2**25, "to": None, "files": 0, "bytes": 0},
    ]
    found = histogram(rows, small=2**25)
    assert [bar.quiet for bar in found.bars] == [True, True, False]
    assert [bar.label for bar in found.bars] == ["< 1 MiB", "1 – 32", "≥ 32"]
    assert found.bars[1].height == 2 * found.bars[0].height
    assert found.bars[2].height == 0
    assert all(bar.y + bar.height == pytest.approx(BOTTOM) for bar in found.bars)


def test_skew_of_equal_or_empty_partitions_is_drawable() -> None:
    for curve in ([5, 5], [0, 0], [10**12, 1], [7]):
        line = skew(curve, len(curve), 5)
        assert all(TOP - 1 <= tick.at <= BOTTOM for tick in line.grid)
