"""Which versions of a table can be read, said before Spark is asked for one that can't, and beside Delta's own refusal."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.urls import reverse

from jobs.domain.delta.time_travel import TOO_LATE
from jobs.models import Read
from jobs.reads.readable_versions import fault_of, is_known, readable, spans_of
from tables.models import Commit, Table

LATER = "Read the newest version, or enter a time that isn’t after its commit."
BOTH = "Enter a version or a time, not both."


def check(form: forms.Form, table: Table) -> None:
    """Adds to the form why nothing can be read at what it asks for, as far as the log tells; Spark isn't asked for that then."""
    given = form.cleaned_data
    version = given.get("version")
    if version is not None and given.get("timestamp") is not None:
        form.add_error("timestamp", BOTH)
    elif version is not None and is_known(table) and (fault := fault_of(table, version)):
        form.add_error("version", fault)


def beside(
    error: Mapping[str, Any] | None, read: Read | None, table_id: uuid.UUID | None, address: str
) -> dict[str, Any] | None:
    """The error of a read with the way on, where it asked for a version or a time.

    After the newest commit that is the newest version, with its time and its page (`address` is the page's route); else the versions
    that can be read.
    """
    if error is None:
        return None
    condition = (error.get("engine") or {}).get("condition") or ""
    asked = (read.question if read else {}) or {}
    version, moment = asked.get("version"), asked.get("timestamp")
    if version is not None and moment is not None:
        return {**error, "what_to_do": BOTH}
    is_of_time = condition == TOO_LATE or (moment is not None and "TIMESTAMP" in condition)
    table = Table.objects.filter(pk=table_id).first() if table_id and (is_of_time or version is not None) else None
    if table is None or table.version is None:
        return dict(error)
    if condition == TOO_LATE:
        return {**error, "what_to_do": LATER, "newest": _newest(table, table.version, address)}
    if version is not None and any(span.first <= version <= span.last for span in spans_of(table)):
        return dict(error)  # it fails for another reason
    spans = readable(table)
    return {**error, "what_to_do": f"Readable are the versions {spans}: enter one of them."} if spans else dict(error)


def _newest(table: Table, version: int, address: str) -> dict[str, Any]:
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version)
    return {
        "version": version,
        "at": commits.values_list("committed_at", flat=True).first(),
        "url": f"{reverse(address, args=[table.pk])}?version={version}",
    }
