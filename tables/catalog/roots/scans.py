"""Scans of roots for tables: people and schedules ask for them, the light worker runs them in turns, the catalog keeps the findings."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.roles import Permission
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from console.base.text.counted import counted
from tables.catalog import listing
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.rights import refuse_paused
from tables.models import Finding, Root
from tables.rules import discovery
from tables.rules.discovery import OtherTable, ResumePoint, Scan
from tables.rules.table_formats import TableFormat

OTHERS_NAMED = 200  # tables in other formats that a pass names
MOST_NAMED = 10_000  # directories that a pass names as unreadable, or as read in part
SCAN_CLAIM = timedelta(minutes=5)  # a turn that died with its worker is done again after that


def ask_scan(actor: Actor, root: Root) -> None:
    """Has the light worker scan a root soon; two requests make one scan. Raises Problem 403 `forbidden`, 409 `root_paused`."""
    if actor.person is not None and not actor.person.scopes(Permission.TABLE_ADD).covers_root(root.pk):
        raise Problem(403, "forbidden", f"Scanning needs {Permission.TABLE_ADD.value} on the root {root.name}.")
    refuse_paused(root)
    with transaction.atomic():
        record(actor, Action.ROOT_SCAN, ObjectKind.ROOT, root.id, root.name)
        Root.objects.filter(pk=root.pk).update(scan_asked_at=timezone.now())


def scan_next_asked() -> bool:
    """A turn of any scan that is wanted, so that a large root keeps none waiting; False when none is."""
    for root_id in Root.objects.filter(_scannable()).order_by("?").values_list("pk", flat=True):
        if Root.objects.filter(_scannable(), pk=root_id).update(scan_claimed_at=Now()):
            with suppress(Root.DoesNotExist):  # removed since
                scan_root(root_id)
            return True
    return False


def _scannable() -> Q:
    """Roots with a wanted scan that no worker runs. A scan keeps no row locked: people add tables meanwhile."""
    return listing.scan_wanted() & (Q(scan_claimed_at=None) | Q(scan_claimed_at__lt=Now() - SCAN_CLAIM))


@dataclass(frozen=True, slots=True)
class Pass:
    """A look through a whole root, turn by turn: what the turns so far have read, and where the next one goes on.

    `unreadable` and `crowded` are those of all turns; `others` names the first of `num_others` tables in other formats.
    """

    began_at: datetime
    place: ResumePoint | None = None
    entries: int = 0
    found: int = 0
    unreadable: tuple[str, ...] = ()
    crowded: tuple[str, ...] = ()
    cut: str | None = None
    others: tuple[OtherTable, ...] = ()
    num_others: int = 0

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "began_at": self.began_at.isoformat()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Pass:
        place = stored["place"]
        return cls(
            began_at=datetime.fromisoformat(stored["began_at"]),
            place=place and ResumePoint(place["path"], place["beyond"], tuple(place["parquet"]), place.get("told", "")),
            entries=stored["entries"],
            found=stored["found"],
            unreadable=tuple(stored["unreadable"]),
            crowded=tuple(stored["crowded"]),
            cut=stored["cut"],
            others=tuple(OtherTable(each["path"], TableFormat(each["format"])) for each in stored.get("others", ())),
            num_others=stored.get("num_others", 0),
        )

    def after(self, turn: Scan) -> Pass:
        """The pass with one turn more. It names MOST_NAMED directories of each kind; where there are more, nothing is judged gone."""
        unreadable = tuple(dict.fromkeys((*self.unreadable, *turn.unreadable)))
        crowded = tuple(dict.fromkeys((*self.crowded, *turn.crowded)))
        cut = self.cut or turn.cut
        if max(len(unreadable), len(crowded)) > MOST_NAMED:
            cut = cut or f"more than {MOST_NAMED:,} directories could not be read, or not in full"
        return replace(
            self,
            place=turn.place,
            entries=self.entries + turn.entries,
            found=self.found + len(turn.found),
            unreadable=unreadable[:MOST_NAMED],
            crowded=crowded[:MOST_NAMED],
            cut=cut,
            others=(*self.others, *turn.others)[:OTHERS_NAMED],
            num_others=self.num_others + len(turn.others),
        )

    def others_json(self) -> dict[str, Any]:
        """The tables in other formats as a root keeps them."""
        return {"total": self.num_others, "named": [asdict(each) for each in self.others]}


def under_way(root: Root) -> Pass | None:
    """The scan that has begun and goes on; None before the end of its first turn."""
    return Pass.from_json(root.scan_pass) if root.scan_pass and root.scan_pass["place"] else None


def scan_root(root_id: uuid.UUID) -> dict[str, object]:
    """One turn of a root's scan: begins one, or goes on with the one that has begun; the answer of the scan's read, as JSON values.

    Each turn keeps what it found, and its place; only after the last one is what an earlier scan found and this one, having seen
    everything, did not, marked gone. Raises Root.DoesNotExist for a removed one.
    """
    root = Root.objects.get(pk=root_id)
    before = Pass.from_json(root.scan_pass) if root.scan_pass else _begun(root)
    stored = root.scan_pass
    others = Root.objects.exclude(pk=root.pk).values_list("uri", flat=True)
    turn = discovery.scan(root.uri, frozenset(others), place=before.place)
    after = before.after(turn)
    with transaction.atomic():
        fresh = Root.objects.select_for_update(no_key=True).filter(pk=root.pk).first()
        if fresh is not None:
            _keep(fresh, turn)
            if fresh.scan_pass == stored and _went_on(fresh, after):
                bulk_additions.open_automatic(fresh)
    stopped = _why_partial(after) or None
    return {
        "root": str(root.pk),
        "found": after.found,
        "entries": after.entries,
        "stopped": stopped,
        "complete": after.place is None,
        "other_formats": after.others_json()["named"],
    }


def scan_asked(root_id: uuid.UUID) -> dict[str, object]:
    """`scan_root` for a question that may have waited meanwhile. Raises Problem 409 `root_paused`."""
    refuse_paused(Root.objects.get(pk=root_id))
    return scan_root(root_id)


def _begun(root: Root) -> Pass:
    """A new pass. One that begins by the root's schedule alone is on record as Levee's own, once: it is kept with its record."""
    began = Pass(timezone.now())
    if root.scan_hours and not (
        root.scan_asked_at and (root.scanned_at is None or root.scanned_at < root.scan_asked_at)
    ):
        after = {"scan_hours": root.scan_hours}
        with transaction.atomic():
            record(Actor.system("light worker"), Action.ROOT_SCAN, ObjectKind.ROOT, root.id, root.name, after=after)
            Root.objects.filter(pk=root.pk).update(scan_pass=began.as_json())
        root.refresh_from_db(fields=["scan_pass"])
    return began


def _keep(root: Root, turn: Scan) -> None:
    """Writes what a turn found, without what lies in a root that was added in this one since the turn began."""
    now = timezone.now()
    inner = set(Root.objects.filter(uri__startswith=f"{root.uri}/").values_list("uri", flat=True))
    own = [directory for directory in turn.found if inner.isdisjoint(_with_parents(directory.path))]
    rows = [Finding(root=root, path=directory.path, kind=directory.kind, seen_at=now) for directory in own]
    Finding.objects.bulk_create(
        rows,
        batch_size=5_000,
        update_conflicts=True,
        unique_fields=["path"],
        update_fields=["root", "kind", "seen_at"],
    )
    Finding.objects.filter(root=root, seen_at=now).exclude(gone_at=None).update(gone_at=None)


def _went_on(root: Root, after: Pass) -> bool:
    """Writes how far the scan has come, unless another worker has; whether it has seen the whole root."""
    is_complete = after.place is None
    root.scan_claimed_at, root.scan_pass = None, None if is_complete else after.as_json()
    fields = ["scan_claimed_at", "scan_pass"]
    if is_complete:
        if after.cut is None:
            _mark_gone(Finding.objects.filter(root=root, seen_at__lt=after.began_at, gone_at=None), after)
        root.scanned_at, root.scan_entries = after.began_at, after.entries
        root.scan_stopped, root.scan_unreadable = _why_partial(after), list(after.unreadable[:50])
        root.scan_others = after.others_json()
        fields += ["scan_others", "scanned_at", "scan_entries", "scan_stopped", "scan_unreadable"]
    root.save(update_fields=fields)
    return is_complete


def _mark_gone(rows: QuerySet[Finding], result: Pass) -> None:
    """Findings that weren't seen again, those aside that lie where the scan saw nothing or only a part."""
    unseen = {*result.unreadable, *result.crowded}
    gone = [pk for pk, path in rows.values_list("pk", "path") if unseen.isdisjoint(_with_parents(path))]
    for start in range(0, len(gone), 5_000):
        Finding.objects.filter(pk__in=gone[start : start + 5_000]).update(gone_at=timezone.now())


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _why_partial(result: Pass) -> str:
    """Why a scan is incomplete, for people; empty if it is complete, apart from unreadable directories."""
    if result.cut or not result.crowded:
        return result.cut or ""
    first, more = result.crowded[0], len(result.crowded) - 1
    others = f", and in {counted(more, 'other directory', 'other directories')}" if more else ""
    return f"Levee read only a part of the names in {first}{others}"
