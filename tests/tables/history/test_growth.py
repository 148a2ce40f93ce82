"""Size and rows by version: reckoned back from the present, unknown from where a commit doesn't tell, in as many steps however long."""

from __future__ import annotations

import pytest

from tables.history import growth
from tables.models import Commit, Table
from tests import factories

pytestmark = pytest.mark.django_db


def table_with(commits: int, **unknown: dict[str, None]) -> Table:
    """Each commit adds 10 bytes and a row; those named by `v<version>` don't tell some of it."""
    table = factories.TableFactory(
        version=commits - 1, size_bytes=10 * commits, num_records=commits, format=Table.Format.DELTA
    )
    usual = {"bytes_added": 15, "bytes_removed": 5, "rows_changed": 1}
    Commit.objects.bulk_create(
        Commit(table=table, version=version, **usual | unknown.get(f"v{version}", {})) for version in range(commits)
    )
    return table


def test_each_version_is_what_the_commits_after_it_leave() -> None:
    points = growth.by_version(table_with(4))
    assert [(p.version, p.size_bytes, p.num_records) for p in points] == [
        (0, 10, 1),
        (1, 20, 2),
        (2, 30, 3),
        (3, 40, 4),
    ]


def test_what_a_commit_doesnt_tell_isnt_known_before_it() -> None:
    points = growth.by_version(table_with(4, v2={"rows_changed": None}))
    assert [p.num_records for p in points] == [None, None, 3, 4]
    assert [p.size_bytes for p in points] == [10, 20, 30, 40]


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ([2], [(0, None), (1, None), (3, 40)]),
        ([3], [(0, None), (1, None), (2, None)]),
        ([0], [(1, 20), (2, 30), (3, 40)]),
    ],
)
def test_nothing_is_known_before_versions_that_levee_never_saw(lost: list[int], expected: list[object]) -> None:
    table = table_with(4)
    Commit.objects.filter(table=table, version__in=lost).delete()
    points = growth.by_version(table)
    assert [(p.version, p.size_bytes) for p in points] == expected
    assert [p.num_records is None for p in points] == [p.size_bytes is None for p in points]


def test_nothing_is_known_before_a_version_that_is_missing_inside_of_a_step() -> None:
    table = table_with(400)  # in steps of four versions
    Commit.objects.filter(table=table, version=202).delete()
    points = growth.by_version(table)
    assert [p.version for p in points if p.size_bytes is not None] == list(range(203, 400, 4))
    assert [p.version for p in points if p.num_records is not None] == list(range(203, 400, 4))


def test_a_long_history_is_one_query_and_a_hundred_points(django_assert_num_queries: object) -> None:
    table = table_with(1_250)
    with django_assert_num_queries(1):  # type: ignore[operator]
        points = growth.by_version(table)
    assert len(points) == growth.MOST_POINTS
    assert sum(point.commits for point in points) == growth.MOST_VERSIONS
    assert (points[-1].version, points[-1].num_records, points[0].version, points[0].num_records) == (
        1_249,
        1_250,
        259,
        260,
    )
