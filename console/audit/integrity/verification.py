"""Verifying the audit: every link follows the one before, holds its event unchanged, and agrees with every exported head."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.functions import Now

from console.audit import definitions
from console.audit.integrity import heads, restores
from console.audit.integrity.canonical import ChainLink, links
from console.audit.integrity.heads import HeadsFile, SignedHead
from console.audit.models import Head, Seal, Verification
from console.audit.verify_export import START, link_hash

SLICE = 10_000
KEPT_FINDINGS = 200

# One statement, one snapshot: an event that is being sealed meanwhile is in one of the two.
_UNSEALED = """
    select e.id, e.action, e.at from audit.event e
    where not exists (select from audit.seal s where s.event = e.id)
      and not exists (select from audit.pending p where p.event = e.id)
    order by e.at limit 20
"""
_COUNTS = "select (select count(*) from audit.event), (select count(*) from audit.seal) + (select count(*) from audit.pending)"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A difference. From `sequence` on the audit has changed; None if no sequence shows it."""

    kind: str
    sequence: int | None
    text: str


class ChainWalk:
    """A walk along the chain from one link on.

    `trusted` is the last sequence at which a head and the chain agreed, `suspect` the first one since at which anything differed.
    """

    def __init__(self, last: int, link: str, exported: HeadsFile, key: str) -> None:
        self.last, self.hash, self.heads, self.key = last, link, exported.heads, key
        self.trusted = last
        self.suspect: int | None = None
        self.checked = 0

    def take(self, link: ChainLink) -> Iterator[AuditFinding]:
        """The findings about the next link."""
        for finding in (*self._place(link), *_content(link)):
            self.suspect = self.suspect or finding.sequence
            yield finding
        head = self.heads.get(link.sequence)
        if head is not None:
            yield from self._against(head, link)
        self.last, self.hash = link.sequence, link.hash
        self.checked += 1

    def _place(self, link: ChainLink) -> Iterator[AuditFinding]:
        if link.sequence != self.last + 1:
            missing = (
                f"#{self.last + 1}" if link.sequence == self.last + 2 else f"#{self.last + 1} to #{link.sequence - 1}"
            )
            yield AuditFinding("gap", self.last + 1, f"{missing} missing: the chain goes on with #{link.sequence}.")
        elif link.previous != self.hash:
            yield AuditFinding(
                "link_broken", link.sequence, f"#{link.sequence} doesn't follow #{self.last} as it is stored."
            )

    def _against(self, head: SignedHead, link: ChainLink) -> Iterator[AuditFinding]:
        if not head.is_signed_by(self.key):
            yield AuditFinding(
                "head_forged", head.sequence, f"The exported head #{head.sequence} isn't signed by this home's key."
            )
        elif head.hash != link.hash:
            since = self.suspect or self.trusted + 1
            text = f"#{link.sequence} isn't what was exported: all since #{since} may have been rewritten."
            yield AuditFinding("head_differs", since, text)
        else:
            self.trusted, self.suspect = link.sequence, None


def _content(link: ChainLink) -> Iterator[AuditFinding]:
    if link.event_hash is None:
        yield AuditFinding("event_gone", link.sequence, f"The event of #{link.sequence} ({link.event}) is gone.")
    elif link.computed != link.event_hash:
        yield AuditFinding("event_changed", link.sequence, f"The event of #{link.sequence} isn't what was recorded.")
    elif link.hash != link_hash(link.sequence, link.previous, link.event, link.event_hash):
        yield AuditFinding("seal_changed", link.sequence, f"#{link.sequence} and its event don't belong together.")


Checks = Callable[[], Iterable[AuditFinding]]


def verify(asked_by: str, since: int = 0, key: str | None = None, more: Checks = tuple) -> Verification:
    """The chain after the link `since`, in one go, and what `more` checks. The result is kept as a row."""
    run = begin(asked_by, since)
    while run.finished_at is None:
        advance(run, key, more)
    return run


def begin(asked_by: str, since: int = 0) -> Verification:
    """A verification that has looked at nothing yet; it begins after the link `since`, which it takes as given."""
    before = Seal.objects.filter(sequence=since).values_list("hash", flat=True).first() if since else START
    row = Verification(asked_by=asked_by, first=since + 1, last=since, hash=before or START)
    row.save(force_insert=True)
    return row


def advance(run: Verification, key: str | None = None, more: Checks = tuple) -> None:
    """One slice more; with the last one, what no single link shows, and the end. Heads are read first: what they name is sealed.

    `key` is the public key that heads must be signed with, this home's unless told.
    """
    started = time.perf_counter()
    key = key or heads.public_key()
    exported = heads.exported(key)
    walk = ChainWalk(run.last, run.hash, exported, key)
    findings: list[AuditFinding] = []
    rows = links(run.last, SLICE)
    for link in rows:
        findings += walk.take(link)
    ended = len(rows) < SLICE
    if ended:
        findings += [*_ends(walk, exported, key), *more()]
    _keep(run, walk, findings, time.perf_counter() - started, ended)


def _ends(walk: ChainWalk, exported: HeadsFile, key: str) -> Iterator[AuditFinding]:
    """What only the whole shows: a cut tail, heads that are lost or forged, events that are in no chain, functions that were replaced."""
    beyond = {sequence: head for sequence, head in exported.heads.items() if sequence > walk.last}
    yield from _cut(walk.last, beyond, key)
    for line in restores.unrecorded(exported.restores):
        text = f"The signed heads say that the chain was {restores.sentence(line)}, and no event of this instance does."
        yield AuditFinding("restore_unrecorded", line.restored_to + 1, text)
    stored = stored_heads()
    yield from at_rest(stored, heads.exported(key))  # the file is read after them, since a head is written there first


def stored_heads() -> list[int]:
    """The sequences of the database's heads."""
    return list(Head.objects.values_list("sequence", flat=True))


def at_rest(stored: Iterable[int], exported: HeadsFile) -> Iterator[AuditFinding]:
    """What differs wherever the chain ends: heads of the database that the file lacks, events in no chain, replaced definitions."""
    lost = [sequence for sequence in stored if sequence not in exported.heads]
    if lost:
        text = f"{len(lost):,} signed heads, #{min(lost)} first, are no longer in the file outside the database."
        yield AuditFinding("head_lost", min(lost), text)
    yield from unsealed()
    yield from (AuditFinding("definition_changed", None, text) for text in definitions.differences())


def _cut(last: int, beyond: Mapping[int, SignedHead], key: str) -> Iterator[AuditFinding]:
    signed = [sequence for sequence, head in beyond.items() if head.is_signed_by(key)]
    if signed:
        text = f"The chain ends at #{last}, but a head of #{max(signed)} was exported: what came after #{last} is gone."
        yield AuditFinding("tail_cut", last + 1, text)
    elif beyond:
        yield AuditFinding(
            "head_forged", min(beyond), f"The exported head #{min(beyond)} isn't signed by this home's key."
        )


def unsealed() -> Iterator[AuditFinding]:
    """Events that are neither in the chain nor waiting for it: only the table's owner can make such."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS)
        events, known = cursor.fetchone()
        if events <= known:
            return
        cursor.execute(_UNSEALED)
        for event, action, at in cursor.fetchall():
            yield AuditFinding(
                "unsealed", None, f"The event {event} ({action}, {at:%Y-%m-%d %H:%M:%S} UTC) is in no chain."
            )


def _keep(run: Verification, walk: ChainWalk, findings: list[AuditFinding], seconds: float, ended: bool) -> None:
    run.last, run.hash = walk.last, walk.hash
    run.checked += walk.checked
    run.seconds = round(run.seconds + seconds, 3)
    run.finished_at = Now() if ended else None
    run.problem_count += len(findings)
    run.problems = [*run.problems, *map(asdict, findings)][:KEPT_FINDINGS]
    run.save(update_fields=["last", "hash", "checked", "seconds", "finished_at", "problems", "problem_count"])
    if ended:
        run.refresh_from_db(fields=["finished_at"])


def last_word() -> Verification | None:
    """The newest verification that says how the audit is: of the whole chain, or one that found something. A part that is well
    takes back nothing that was found elsewhere."""
    ended = Verification.objects.filter(finished_at__isnull=False)
    return ended.filter(Q(first__lte=1) | Q(problem_count__gt=0)).order_by("-id").first()


def first_wrong(run: Verification) -> int | None:
    """From which sequence on something differs; None when nothing does, or no sequence tells."""
    return min((p["sequence"] for p in run.problems if p["sequence"] is not None), default=None)


def as_json(run: Verification) -> dict[str, Any]:
    """A verification as API and command line return it."""
    return {
        "whole": run.first <= 1,
        "first": run.first,
        "last": run.last,
        "checked": run.checked,
        "seconds": run.seconds,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "asked_by": run.asked_by,
        "ok": run.finished_at is not None and not run.problem_count,
        "problem_count": run.problem_count,
        "first_wrong": first_wrong(run),
        "problems": run.problems,
    }
