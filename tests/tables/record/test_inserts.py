"""Rows that are written as JSON are those that Django reads back."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from tables.models import Commit, Schema
from tables.record.inserts import insert_new
from tests import factories

pytestmark = pytest.mark.django_db
HOSTILE = 'it\'s "quoted" %s {0} \\ \u2028 \N{SNOWMAN} $$; drop table tables_commit'


def test_every_kind_of_column_comes_back_as_it_was() -> None:
    table = factories.TableFactory()
    struct = {"type": "struct", "fields": [{"name": HOSTILE, "metadata": {"n": 1.5}}]}
    assert insert_new([Schema(sha256="a" * 64, struct=struct, columns=[HOSTILE, "b,c"])], "sha256") == {"a" * 64}
    assert (Schema.objects.get().struct, Schema.objects.get().columns) == (struct, [HOSTILE, "b,c"])
    full = Commit(
        table=table, version=2**63 - 1, committed_at=datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), operation=HOSTILE,
        operation_parameters={HOSTILE: None}, operation_metrics={"n": "1"}, is_blind_append=False, read_version=0, job=uuid.uuid4(),
        bytes_added=-(2**63), schema_id="a" * 64, partition_columns=["x", ""], properties={"k": HOSTILE}, protocol={"n": 1},
        problems=[{"reason": HOSTILE}],
    )  # fmt: skip
    empty = Commit(table=table, version=0)
    assert insert_new([full, empty], "version") == {0, 2**63 - 1}
    for row in (full, empty):
        stored = Commit.objects.get(table=table, version=row.version)
        for field in Commit._meta.concrete_fields:
            assert getattr(stored, field.attname) == getattr(row, field.attname), field.name
    assert Commit.objects.filter(properties__isnull=True, protocol__isnull=True).count() == 1  # null, not JSON's null


def test_a_row_that_is_known_stays_and_is_not_reported() -> None:
    table = factories.TableFactory()
    assert insert_new([Commit(table=table, version=1, operation="WRITE")], "version") == {1}
    both = [Commit(table=table, version=1, operation="DELETE"), Commit(table=table, version=2)]
    assert insert_new(both, "version") == {2}
    assert Commit.objects.get(version=1).operation == "WRITE"
    assert insert_new([], "version") == set()
