"""One list of what takes rows or files away, in Python and in the database: home, filter, drawing and explanation agree."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actor import Actor
from jobs.web.jobs.queries import destructive_lately
from tables.history.destructive_effects import effects_of
from tables.history.operations import destructive
from tables.history.queries import HistoryFilter, history_page
from tables.models import Commit, Root, Table
from tables.rules.destruction import DESTRUCTIVE, OPERATIONS, is_destructive
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
    listed = {commit.version for commit in history_page(table, HistoryFilter(operation="destructive"), 100).rows}
    asked = {c.version for c in Commit.objects.filter(table=table, version__gt=0) if effects_of(c, None)}
    assert said == listed == asked == {mark.version for mark in destructive(table)} == expected
    assert admin.person is not None
    shown = destructive_lately(Person.objects.get(pk=admin.person.pk), limit=100)
    assert {row["version"] for row in shown} == expected


def by_its_only_index(name: str, found: QuerySet[Commit]) -> str:
    """The plan of a query on an empty copy of the commits' table, found before the real one, with this index alone: which of several
    the planner takes hangs on what was counted in the table when, and only an index that holds all that's asked for can serve at all."""
    (index,) = (each for each in Commit._meta.indexes if each.name == name)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE tables_commit (LIKE public.tables_commit) ON COMMIT DROP")
    with connection.schema_editor() as editor:
        editor.add_index(Commit, index)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
    return found.explain()


def test_the_index_of_a_table_holds_what_is_asked_for() -> None:
    of_table = Commit.objects.filter(DESTRUCTIVE, table=uuid4(), incarnation=0).order_by("-version")
    plan = by_its_only_index("commit_destruction_of", of_table)
    assert "Index Scan using commit_destruction_of" in plan
    assert "Sort" not in plan


def test_the_index_of_all_tables_holds_what_is_asked_for() -> None:
    lately = Commit.objects.filter(DESTRUCTIVE, committed_at__gt=timezone.now()).order_by("-committed_at")
    plan = by_its_only_index("commit_destruction", lately)
    assert "Index Scan using commit_destruction" in plan
    assert "Sort" not in plan
