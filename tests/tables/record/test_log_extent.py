"""Logs with holes: a version counts as restorable only where the log can rebuild it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from console.accounts.models import Person
from console.audit.actor import Actor
from tables.catalog.adding import additions
from tables.history.reachability import TableReach, joined
from tables.models import Root, Table
from tables.record import log_extent
from tables.sync import table as syncing
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata

Added = Callable[[], Table]


@pytest.fixture
def log(lake: Path) -> LogWriter:
    """Versions 0 to 10, an hour old."""
    log = LogWriter(lake / "orders")
    log.create()
    for version in range(11):
        actions = [PROTOCOL, metadata()] if version == 0 else [add(f"f{version}")]
        log.commit(version, info(), *actions, modified_ms=int(time.time() * 1000) - 3_600_000 + 1000 * version)
    return log


@pytest.fixture
def added(admin: Actor, root: Root, log: LogWriter) -> Added:
    return lambda: additions.add_table(admin, str(log.table)).table


def state(log: LogWriter, version: int) -> list[dict[str, object]]:
    return [PROTOCOL, metadata(), *(add(f"f{n}") for n in range(1, version + 1))]


def spans(table: Table) -> list[tuple[int, int, bool, bool]]:
    return [(s.first, s.last, s.in_log, s.restorable) for s in joined(TableReach(table).spans)]


def test_a_whole_log_can_be_rebuilt_whole(added: Added) -> None:
    table = added()
    assert (table.rebuildable, table.lost_commits) == ([[0, 10]], [])
    assert spans(table) == [(0, 10, True, True)]


def test_what_follows_a_lost_commit_is_not_restorable(added: Added, log: LogWriter) -> None:
    log.file(5).unlink()
    table = added()
    assert (table.rebuildable, table.lost_commits) == ([[0, 4]], [[5, 5]])
    assert spans(table) == [(0, 4, True, True), (5, 5, False, False), (6, 10, True, False)]


def test_a_checkpoint_makes_up_for_what_was_lost_before_it(added: Added, log: LogWriter) -> None:
    log.file(5).unlink()
    log.checkpoint(8, *state(log, 8))
    table = added()
    assert (table.rebuildable, table.first_readable, table.checkpoint_version) == ([[0, 4], [8, 10]], 0, 8)
    assert spans(table)[-1] == (8, 10, True, True)
    assert [log_extent.can_be_rebuilt(table, version) for version in (4, 5, 7, 8)] == [True, False, False, True]


def test_half_a_checkpoint_is_none(added: Added, log: LogWriter) -> None:
    log.checkpoint(8, *state(log, 8))
    log.multipart(3, state(log, 3)[:2], state(log, 3)[2:])[1].unlink()
    for version in range(8):
        log.file(version).unlink()
    table = added()
    assert (table.first_version, table.first_readable, table.rebuildable) == (8, 8, [[8, 10]])


def test_a_clean_up_is_seen_though_no_commit_came(added: Added, log: LogWriter) -> None:
    table = added()
    log.checkpoint(8, *state(log, 8))
    for version in range(8):
        log.file(version).unlink()
    table = syncing.sync(table.pk)
    assert (table.version, table.first_version, table.rebuildable) == (10, 8, [[8, 10]])
    assert spans(table) == [(0, 7, False, False), (8, 10, True, True)]


def test_the_pages_of_what_can_not_be_rebuilt_are_not_offered(
    added: Added, log: LogWriter, person: Callable[..., Person]
) -> None:
    log.file(5).unlink()
    table = added()
    client = Client()
    client.force_login(person("ines"))
    assert client.get(f"/tables/{table.pk}/layout/?version=4").status_code == 200
    assert client.get(f"/tables/{table.pk}/layout/?version=7").status_code == 410
    assert f"/tables/{table.pk}/layout/?version=7" not in client.get(f"/tables/{table.pk}/commits/7/").content.decode()


def test_a_log_full_of_holes_keeps_few_ranges(added: Added, log: LogWriter) -> None:
    for version in range(12, 1000, 2):
        log.commit(version, info(), add("x"))
    table = added()
    assert table.lost_commits is not None
    assert len(table.lost_commits) == log_extent.MOST
    assert table.lost_commits[0][0] == 11
    assert table.lost_commits[-1] == [997, 997]
