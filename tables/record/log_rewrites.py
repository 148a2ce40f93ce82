"""Versions that have changed: a log rewritten from a backup or by hand, under the same table id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from tables.models import Baseline, Commit, Explanation, Table

TOLD = 20  # of the commits that are no more, the oldest: what remains of them

_SAYS = ("log_bytes", "txn_id", "files_added", "files_removed")


def are_different(one: Commit, other: Commit) -> bool:
    """Whether two commits of one version were written apart. Times say nothing: a copied log has those of the copying."""
    return any(getattr(one, name) != getattr(other, name) for name in _SAYS)


def drop_beyond(table: Table, head: int) -> list[Commit]:
    """Takes the commits after the log's head out of the history, and answers the oldest of them."""
    here = Commit.objects.filter(table=table, incarnation=table.incarnation, version__gt=head)
    gone = list(here.order_by("version")[:TOLD])
    if gone:
        here.delete()
        Explanation.objects.filter(table=table, incarnation=table.incarnation, version__gt=head).delete()
    return gone


def note(table: Table, gone: Sequence[Commit]) -> None:
    """Says on the table's entry, unsaved, what its log held before. The new commits need new attributions."""
    rows = sorted(gone, key=lambda commit: commit.version)
    versions = [commit.version for commit in rows]
    Explanation.objects.filter(table=table, incarnation=table.incarnation, version__in=versions).delete()
    Baseline.objects.filter(table=table, incarnation=table.incarnation, version__gte=versions[0]).delete()
    at = timezone.now().isoformat()
    table.rewritten = {"from_version": versions[0], "seen_at": at, "commits": [_told(c) for c in rows[:TOLD]]}


def _told(commit: Commit) -> dict[str, Any]:
    return {
        "version": commit.version,
        "committed_at": commit.committed_at.isoformat() if commit.committed_at else None,
        "operation": commit.operation or None,
        "user_name": commit.user_name[:200] or None,
        "txn_id": commit.txn_id[:200] or None,
        "job": str(commit.job) if commit.job else None,
    }
