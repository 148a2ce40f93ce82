"""Tables in an object store are looked at several at once, and no look asks the database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.models import Root, SyncTimes, Table
from tables.sync import claims, unchanged
from tests.s3 import Store

pytestmark = pytest.mark.django_db


@pytest.fixture
def due(admin: Actor, stored: Root, store: Store) -> list[Table]:
    """Two tables that were read twice, and are due."""
    tables = [additions.add_table(admin, store.delta(f"sales/{name}")).table for name in ("one", "two")]
    for _ in range(2):
        SyncTimes.objects.update(next_sync_at=timezone.now())
        while unchanged.sync_claimed():
            pass
    SyncTimes.objects.update(next_sync_at=timezone.now())
    return tables


def test_tables_without_a_change_cost_looks_alone(due: list[Table], store: Store) -> None:
    begun = timezone.now()
    store.door.requests.clear()
    assert unchanged.sync_claimed()
    assert SyncTimes.objects.filter(synced_at__gt=begun).count() == len(due)
    assert {request.split(" ")[0] for request in store.door.requests} <= {"GET", "HEAD"}
    assert len(store.door.requests) == 2 * len(due), "a list of names and the newest commit for each"


def test_what_changed_is_read(due: list[Table], store: Store) -> None:
    store.delta("sales/two", mode="append")
    while unchanged.sync_claimed():
        pass
    assert dict(Table.objects.values_list("name", "version")) == {"one": 0, "two": 1}


def test_a_look_asks_the_database_nothing(due: list[Table], monkeypatch: pytest.MonkeyPatch) -> None:
    claimed = [each for each in claims.claim() if each.until is not None]
    logs: list[Any] = [unchanged._log_of(each) for each in claimed]
    with CaptureQueriesContext(connection) as asked:
        assert [unchanged._is_as_it_was(each, log) for each, log in zip(claimed, logs, strict=True)] == [True, True]
    assert not asked.captured_queries


def test_a_store_that_is_away_is_told_table_by_table(due: list[Table], store: Store) -> None:
    store.door.refuses = (503, "SlowDown")
    while unchanged.sync_claimed():
        pass
    for table in Table.objects.all():
        assert "overloaded" in table.sync_error
        assert table.missing_since is None
