"""A table's fields from a snapshot."""

from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from tables.deltalog.replay.log import open_log
from tables.models import Table
from tables.record import table_fields
from tests.tables.deltalog.writing import LogWriter, add


@pytest.mark.django_db
def test_the_fields_are_taken_without_the_database(
    tmp_path: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    writer = LogWriter(tmp_path / "table")
    writer.create(add("a"))
    snapshot = open_log(str(writer.table)).sync(tmp_path / "files.arrow").snapshot()
    table = Table()
    with django_assert_num_queries(0):
        table_fields.take(table, snapshot)
    assert table.schema is not None
    assert table.schema.columns == ["id", "day"]
