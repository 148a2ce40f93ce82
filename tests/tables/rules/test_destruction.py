"""One list of what takes rows or files away, in Python and in the database: home, filter, drawing and explanation agree."""

from __future__ import annotations

import pytest
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.web.jobs.queries import destructive_lately
from tables.history.destructive_effects import effects_of
from tables.history.operations import destructive
from tables.history.queries import Filter, history_page
from tables.models import Commit, Root, Table
from tables.rules.destruction import OPERATIONS, is_destructive
from tests import factories

pytestmark = pytest.mark.django_db

COMMITS: list[tuple[str, dict[str, str | None], bool]] = [
    ("CREATE OR REPLACE TABLE", {}, False),  # version 0 of a new table
    *((operation, {}, True) for operation in OPERATIONS),
    ("WRITE", {"mode": "Overwrite"}, True),
    ("STREAMING UPDATE", {"outputMode": "Complete"}, True),
    ("WRITE", {"mode": "Append"}, False),
    ("STREAMING UPDATE", {"outputMode": "Append"}, False),
    ("VACUUM END", {}, False),
    ("OPTIMIZE", {"mode": None}, False),
    ("", {}, False),
]


@pytest.fixture
def table(root: Root) -> Table:
    table: Table = factories.TableFactory(root=root, name="t", version=len(COMMITS) - 1)
    now = timezone.now()
    Commit.objects.bulk_create(
        Commit(table=table, version=at, operation=operation, operation_parameters=parameters, committed_at=now)
        for at, (operation, parameters, _) in enumerate(COMMITS)
    )
    return table


def test_every_place_shows_the_same_commits(table: Table, admin: Actor) -> None:
    expected = {at for at, (_, _, takes_away) in enumerate(COMMITS) if takes_away}
    said = {at for at, (name, parameters, _) in enumerate(COMMITS) if is_destructive(name, parameters, at)}
    listed = {commit.version for commit in history_page(table, Filter(operation="destructive"), 100).rows}
    asked = {c.version for c in Commit.objects.filter(table=table, version__gt=0) if effects_of(c, None)}
    assert said == listed == asked == {mark.version for mark in destructive(table)} == expected
    assert admin.person is not None
    shown = destructive_lately(Person.objects.get(pk=admin.person.pk), limit=100)
    assert {row["version"] for row in shown} == expected


def test_the_indexes_hold_what_is_asked_for(table: Table) -> None:
    from django.db import connection

    from tables.rules.destruction import DESTRUCTIVE

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    of_table = Commit.objects.filter(DESTRUCTIVE, table=table, incarnation=0).order_by("-version")
    assert "commit_destruction_of" in of_table.explain()
    lately = Commit.objects.filter(DESTRUCTIVE, committed_at__gt=timezone.now()).order_by("-committed_at")
    assert "commit_destruction" in lately.explain()
