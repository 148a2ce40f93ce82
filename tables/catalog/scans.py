"""Scans of roots for tables: people request them, the light worker runs them, the catalog keeps the findings."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from tables.catalog import listing
from tables.models import Finding, Root
from tables.rules import discovery
from tables.rules.discovery import Scan

SCAN_CLAIM = timedelta(minutes=5)  # a scan that died with its worker is done again after that


def ask_scan(actor: Actor, root: Root) -> None:
    """Has the light worker scan a root soon; two requests make one scan. Raises Problem 403 `forbidden`."""
    if actor.person is not None and not actor.person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
        raise Problem(403, "forbidden", f"Scanning needs {Permission.TABLE_ADD.value} on the root {root.name}.")
    with transaction.atomic():
        record(actor, Action.ROOT_SCAN, ObjectKind.ROOT, root.id, root.name)
        Root.objects.filter(pk=root.pk).update(scan_asked_at=timezone.now())


def scan_next_asked() -> bool:
    """Scans the root that has waited longest for it; False when none is asked for."""
    for root_id in Root.objects.filter(_scannable()).order_by("scan_asked_at").values_list("pk", flat=True):
        if Root.objects.filter(_scannable(), pk=root_id).update(scan_claimed_at=Now()):
            scan_root(root_id)
            return True
    return False


def _scannable() -> Q:
    """Roots with a requested scan that no worker runs. A scan keeps no row locked: people add tables meanwhile."""
    return listing.scan_waits() & (Q(scan_claimed_at=None) | Q(scan_claimed_at__lt=Now() - SCAN_CLAIM))


def scan_root(root_id: uuid.UUID) -> dict[str, object]:
    """Looks through a root and keeps what it found; the answer of the scan's read, as JSON values.

    What an earlier scan found and this one, having seen everything, did not, is marked gone.
    """
    root, began = Root.objects.get(pk=root_id), timezone.now()
    others = Root.objects.exclude(pk=root.pk).values_list("uri", flat=True)
    result = discovery.scan(root.uri, frozenset(others))
    with transaction.atomic():
        now = timezone.now()
        rows = [Finding(root=root, path=directory.path, kind=directory.kind, seen_at=now) for directory in result.found]
        Finding.objects.bulk_create(
            rows,
            batch_size=5_000,
            update_conflicts=True,
            unique_fields=["path"],
            update_fields=["root", "kind", "seen_at"],
        )
        Finding.objects.filter(root=root, seen_at=now).exclude(gone_at=None).update(gone_at=None)
        if result.stopped is None:
            _mark_gone(Finding.objects.filter(root=root, seen_at__lt=began, gone_at=None), result)
        root.scanned_at, root.scan_claimed_at, root.scan_entries = began, None, result.entries
        root.scan_stopped, root.scan_unreadable = _why_partial(result), list(result.unreadable[:50])
        root.save(update_fields=["scanned_at", "scan_claimed_at", "scan_entries", "scan_stopped", "scan_unreadable"])
    return {"root": str(root.pk), "found": len(rows), "entries": result.entries, "stopped": result.stopped}


def _mark_gone(rows: QuerySet[Finding], result: Scan) -> None:
    """Findings that weren't seen again, those aside that lie where the scan saw nothing or only a part."""
    unseen = {*result.unreadable, *result.crowded}
    gone = [pk for pk, path in rows.values_list("pk", "path") if unseen.isdisjoint(_with_parents(path))]
    for start in range(0, len(gone), 5_000):
        Finding.objects.filter(pk__in=gone[start : start + 5_000]).update(gone_at=timezone.now())


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _why_partial(result: Scan) -> str:
    """Why a scan is incomplete, for people; empty if it is complete, apart from unreadable directories."""
    if result.stopped or not result.crowded:
        return result.stopped or ""
    first, more = result.crowded[0], len(result.crowded) - 1
    others = f", and in {more:,} other directories" if more else ""
    return f"Levee read only the first {discovery.MAX_IN_DIRECTORY:,} names in {first}{others}"
