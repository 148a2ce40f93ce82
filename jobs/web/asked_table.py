"""The table that you request a change of, the name that you confirm it by, and the rule that forbids the change."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from console.accounts.permissions import person_of
from jobs.policy import protection
from tables.models import Table

SAID_ON_THE_PAGE = {400, 409, 422}


def name_of(table: Table) -> str:
    """The name under which you know a table, and which you type to confirm."""
    return table.catalog_name or table.name


def asked_of(request: HttpRequest, kind: str, table: Table) -> dict[str, Any]:
    """What every page that asks for a command on a table says of it."""
    protecting = protection.over(kind, table.path, person_of(request).pk)
    return {"table": table, "table_name": name_of(table), "protection": protecting}
