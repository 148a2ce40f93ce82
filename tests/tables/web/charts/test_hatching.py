from __future__ import annotations

from tables.web.charts.hatching import hatch


def test_hatching_stays_inside_its_box() -> None:
    path = hatch(10, 20, 30, 14)
    points = [tuple(map(float, point.split())) for part in path.split("M")[1:] for point in part.split("L")]
    assert all(9.9 <= x <= 40.1 and 19.9 <= y <= 34.1 for x, y in points)
