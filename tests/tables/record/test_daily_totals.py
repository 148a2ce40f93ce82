from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history import queries
from tables.models import Commit, Root, Table, TableDay
from tables.record import daily_totals as days
from tables.sync import table as sync

Write = Callable[..., Path]
NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def commit(place: Path, version: int, at: datetime, rows: int | None = 10, size: int = 100) -> None:
    """One more commit that adds a file, as written at a time; `rows` None: without statistics."""
    add: dict[str, Any] = {"path": f"f{version}.parquet", "size": size, "partitionValues": {}, "dataChange": True}
    add |= {"modificationTime": 0} | ({} if rows is None else {"stats": json.dumps({"numRecords": rows})})
    lines = [{"commitInfo": {"operation": "WRITE", "timestamp": int(at.timestamp() * 1000)}}, {"add": add}]
    entry = place / "_delta_log" / f"{version:020}.json"
    entry.write_text("\n".join(map(json.dumps, lines)))
    os.utime(entry, (at.timestamp(), at.timestamp()))


@pytest.fixture
def table(admin: Actor, root: Root, write: Write) -> Table:
    """A table whose first commit is from the second of March."""
    place = write("orders", 3)
    first = datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp()
    os.utime(place / "_delta_log" / f"{0:020}.json", (first, first))
    return additions.add_table(admin, str(place)).table


def read(table: Table) -> list[tuple[date, int, int | None, int | None]]:
    table = sync.sync(table.pk)
    return [(d.at.date(), d.commits, d.size_bytes, d.num_records) for d in queries.days_of(table, NOW)]


def test_a_day_is_counted_once_however_its_commits_arrive(table: Table) -> None:
    place, base = Path(table.path), table.size_bytes or 0
    commit(place, 1, datetime(2026, 3, 2, 23, 59, tzinfo=UTC))
    commit(place, 2, datetime(2026, 3, 3, 0, 1, tzinfo=UTC))
    first = read(table)
    commit(place, 3, datetime(2026, 3, 3, 23, 59, tzinfo=UTC))
    assert first == [(date(2026, 3, 2), 2, base + 100, 13), (date(2026, 3, 3), 1, base + 200, 23)]
    assert read(table) == [(date(2026, 3, 2), 2, base + 100, 13), (date(2026, 3, 3), 2, base + 300, 33)]


def test_before_a_commit_that_does_not_tell_its_rows_they_are_unknown(table: Table) -> None:
    place = Path(table.path)
    commit(place, 1, datetime(2026, 3, 3, 10, tzinfo=UTC), rows=None)
    commit(place, 2, datetime(2026, 3, 4, 10, tzinfo=UTC))
    days = TableDay.objects.filter(table=table).order_by("day")
    assert [row[3] for row in read(table)][:2] == [None, None]
    assert [row.rows_grown for row in days] == [3, None, 10]


def test_sizes_beyond_any_table_are_unknown(table: Table) -> None:
    for version in (1, 2):
        commit(Path(table.path), version, datetime(2026, 3, 3, version, tzinfo=UTC), size=2**62)
    sync.sync(table.pk)
    assert TableDay.objects.get(table=table, day=date(2026, 3, 3)).bytes_grown is None


def test_days_of_an_earlier_table_stay_its_own(table: Table, write: Write) -> None:
    shutil.rmtree(table.path)
    write("orders", 5)
    table = sync.sync(table.pk)
    assert set(TableDay.objects.filter(table=table).values_list("incarnation", flat=True)) == {0, 1}
    assert [day.commits for day in queries.days_of(table, datetime.now(UTC))] == [1]


def test_a_mended_commit_leaves_the_day_on_which_it_stood(table: Table) -> None:
    place = Path(table.path)
    at = datetime(2026, 3, 3, 10, tzinfo=UTC)
    commit(place, 1, at)
    entry = place / "_delta_log" / f"{1:020}.json"
    entry.write_bytes(entry.read_bytes()[:30])
    os.utime(entry, (at.timestamp(), at.timestamp()))
    commit(place, 2, datetime(2026, 3, 4, 10, tzinfo=UTC))
    assert sync.sync(table.pk).problems
    rows = TableDay.objects.filter(table=table).order_by("day").values_list("day", "commits")
    assert list(rows) == [(date(2026, 3, day), 1) for day in (2, 3, 4)]
    commit(place, 1, datetime(2026, 3, 5, 10, tzinfo=UTC))
    assert not sync.sync(table.pk, reread_broken=True).problems
    assert list(rows.all()) == [(date(2026, 3, 2), 1), (date(2026, 3, 5), 2)]


def _repeat(version: int, times: int) -> None:
    """So many commits more like that one, by the database itself: the next versions."""
    fields = [str(field.column) for field in Commit._meta.concrete_fields if not field.primary_key]
    values = ["version + n" if name == "version" else name for name in fields]
    with connection.cursor() as cursor:
        cursor.execute(
            f"insert into tables_commit ({', '.join(fields)}) select {', '.join(values)}"
            " from tables_commit cross join generate_series(1, %s) n where version = %s",
            [times, version],
        )


def test_every_commit_of_a_busy_table_is_counted(table: Table) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    Commit.objects.create(table=table, incarnation=0, version=10, committed_at=start, bytes_added=0, bytes_removed=0)
    _repeat(10, 6_999)

    days.recount(table, 10)
    assert next(day.commits for day in queries.days_of(table, NOW) if day.at == start) == 7_000
