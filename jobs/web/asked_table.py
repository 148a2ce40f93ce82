"""The table that you request a change of, and the name that you confirm it by."""

from __future__ import annotations

from tables.models import Table

SAID_ON_THE_PAGE = {400, 409, 422}


def name_of(table: Table) -> str:
    """The name under which you know a table, and which you type to confirm."""
    return table.catalog_name or table.name
