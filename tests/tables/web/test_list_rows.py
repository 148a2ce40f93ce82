"""The rows of the list of tables: cells of the columns that a person has, in their order."""

import pytest
from django.urls import reverse

from tables.web.list.rows import rows_of
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_row_has_the_cells_of_its_columns_alone_and_leads_to_its_table():
    table = factories.TableFactory(name="orders", format="delta", version=1204, size_bytes=2048, num_files=3)
    [row] = rows_of([table], ["size", "version"], may_request=True)
    assert (row.name, row.path, row.url) == (table.name, table.path, f"/tables/{table.pk}/")
    assert row.cells.index('data-label="Size"') < row.cells.index('data-label="Version"')
    assert "1,204" in row.cells
    assert "Files" not in row.cells


def test_a_directory_without_a_delta_table_is_converted_by_who_may():
    table = factories.TableFactory(path='/lake/a"&b', version=None, format="parquet", num_records=None)
    [may], [may_not] = (rows_of([table], ["health", "rows"], may_request=may) for may in (True, False))
    assert f'href="{reverse("jobs:convert")}?path=%2Flake%2Fa%22%26b"' in may.cells
    assert "parquet only" in may_not.cells
    assert "not counted" in may.cells
