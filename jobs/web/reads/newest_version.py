"""The way on from a time after the newest commit, which Delta refuses."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import reverse

from jobs.domain.time_travel import TOO_LATE
from tables.models import Commit, Table

WHAT_TO_DO = "Read the newest version, or enter a time that isn’t after its commit."


def beside(error: Mapping[str, Any] | None, table_id: uuid.UUID | None, address: str) -> dict[str, Any] | None:
    """The error of a read with the newest version that the catalog knows, its time, and its page, where Delta refused a later time.

    `address` is the page's route.
    """
    if error is None:
        return None
    is_too_late = (error.get("engine") or {}).get("condition") == TOO_LATE
    table = Table.objects.filter(pk=table_id).first() if is_too_late and table_id is not None else None
    if table is None or table.version is None:
        return dict(error)
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation, version=table.version)
    newest = {
        "version": table.version,
        "at": commits.values_list("committed_at", flat=True).first(),
        "url": f"{reverse(address, args=[table.pk])}?version={table.version}",
    }
    return {**error, "what_to_do": WHAT_TO_DO, "newest": newest}
