"""What can be reached of a table, from the catalog's rows: whatever they hold, in a constant number of queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tables.history.reachability import TableReach, joined
from tables.models import Commit, Table
from tests import factories

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def table() -> Table:
    made: Table = factories.TableFactory(version=100, first_version=0, first_readable=0)
    return made


def commit(table: Table, version: int, days_ago: float, **values: object) -> Commit:
    at = timezone.now() - days_ago * DAY
    made: Commit = Commit.objects.create(**{"table": table, "version": version, "committed_at": at, **values})
    return made


def vacuum(table: Table, version: int, days_ago: float, hours: int = 0) -> None:
    asked = {"specifiedRetentionMillis": str(hours * 3_600_000)}
    commit(table, version, days_ago, operation="VACUUM START", operation_parameters=asked)
    commit(table, version + 1, days_ago, operation="VACUUM END", operation_parameters={"status": "COMPLETED"})


def restorable(table: Table) -> list[int]:
    spans = joined(TableReach(table).spans)
    return [version for span in spans if span.restorable for version in range(span.first, span.last + 1)]


def test_the_vacuum_that_reached_farthest_decides(table: Table) -> None:
    for version in range(90, 95):
        commit(table, version, 5 - (version - 90) / 10, files_removed=1)
    vacuum(table, 95, 4, hours=21)  # what was removed until version 91, 4.9 days ago
    vacuum(table, 97, 3, hours=2400)  # later, and yet nothing
    commit(table, 100, 0)
    assert restorable(table) == list(range(91, 101))


@pytest.mark.parametrize("end", [None, "FAILED"])
def test_a_vacuum_that_did_not_complete_may_have_deleted_files_as_well(table: Table, end: str | None) -> None:
    commit(table, 94, 5, files_removed=1)
    commit(table, 95, 4, operation="VACUUM START", operation_parameters={"specifiedRetentionMillis": "0"})
    if end:
        commit(table, 96, 4, operation="VACUUM END", operation_parameters={"status": end})
    commit(table, 100, 0)
    assert restorable(table) == list(range(94, 101))
    assert TableReach(table).vacuumed_until is None


def test_many_vacuums_cost_no_more_queries_than_one(table: Table) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            assert TableReach(table).spans
        return len(found)

    commit(table, 1, 6, files_removed=3)
    vacuum(table, 10, 5)
    one = queries()
    for version in range(12, 60, 2):
        vacuum(table, version, 4)
    assert queries() == one
    assert restorable(table) == list(range(1, 101))


@pytest.mark.parametrize("days", ["999999999 weeks", "999999999 days", "400000 days"])
def test_a_retention_of_any_length_has_an_answer(table: Table, days: str) -> None:
    table.properties = {"delta.deletedFileRetentionDuration": f"interval {days}"}
    commit(table, 0, 30, committed_at=datetime(9999, 12, 31, tzinfo=UTC))
    commit(table, 1, 6, files_removed=3)
    vacuum(table, 10, 5, hours=24_000_000)
    spans = TableReach(table).spans
    assert [TableReach(table).expires_at(span) for span in spans]
    assert restorable(table) == list(range(101))
