"""Which versions of a table can be read, said before Spark is asked for one that can't, and beside Delta's own refusal."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django import forms
from django.urls import reverse

from jobs.domain.time_travel import TOO_LATE
from jobs.models import Read
from tables.history.reachability import Reach, Span, joined
from tables.models import Commit, Table
from tables.record import log_extent
from tables.sync import log_access

LATER = "Read the newest version, or enter a time that isn’t after its commit."
EXPIRED = "Version {version:,} can’t be read: it is older than delta.deletedFileRetentionDuration, so Delta refuses it."
BOTH = "Enter a version or a time, not both."
SPANS = 3  # the newest ones that are named


def check(form: forms.Form, table: Table) -> None:
    """Adds to the form why nothing can be read at what it asks for, as far as the log tells; Spark isn't asked for that then."""
    given = form.cleaned_data
    version = given.get("version")
    if version is not None and given.get("timestamp") is not None:
        form.add_error("timestamp", BOTH)
    elif version is not None and (fault := fault_of(table, version)):
        form.add_error("version", fault)


def fault_of(table: Table, version: int) -> str:
    """Why the version can't be read, with those that can; empty if it can, and while the log has moved on since the catalog read it."""
    if table.version is None or log_access.head_version(table.path, table.version) != table.version:
        return ""
    if version > table.version:
        return f"The newest version is {table.version:,}. {_choose(table)}".strip()
    if not log_extent.can_be_rebuilt(table, version):
        return f"Version {version:,} can’t be read. {_choose(table)}".strip()
    return f"{EXPIRED.format(version=version)} {_choose(table)}".strip() if _expired(table, version) else ""


def _expired(table: Table, version: int) -> bool:
    """Whether Delta refuses to read the version by its age, whatever is left of its files."""
    commit = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first()
    reach = Reach(table)
    until = reach.of(commit).until if commit else None
    return until is not None and until < reach.now


def _choose(table: Table) -> str:
    spans = readable(table)
    return f"Readable are {spans}." if spans else ""


def _spans(table: Table) -> list[Span]:
    return [span for span in joined(Reach(table).spans) if span.restorable]


def readable(table: Table) -> str:
    """The versions that can be read now: `358–399`, or the newest spans of them; empty if none is known."""
    spans = _spans(table)
    texts = [f"{span.first:,}" if span.first == span.last else f"{span.first:,}–{span.last:,}" for span in spans]
    named = _merged(texts[-SPANS:])
    return f"{named} and older ones" if len(texts) > SPANS else named


def _merged(texts: list[str]) -> str:
    return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1]) if part) if texts else ""


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
    if version is not None and any(span.first <= version <= span.last for span in _spans(table)):
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
