"""Whether a backup's audit is what the backup says, and what was exported of it: asked before a signed line takes newer heads back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from console.audit.integrity import heads
from console.audit.integrity.canonical import links
from console.audit.integrity.heads import HeadsFile
from console.audit.integrity.verification import SLICE, AuditFinding, ChainWalk, at_rest, stored_heads
from console.audit.verify_export import START
from console.base.text.counted import counted
from console.management.backup.archive import Manifest

ELSEWHERE = "give LEVEE_AUDIT_HEADS another directory"
SHOWN = 3  # findings in the refusal


class NotRestored(Exception):
    """The backup can't be restored here; the message is one line for a person. The home has no database, as before."""


def check_keys(key: Path, manifest: Manifest, lines: Sequence[str]) -> None:
    """Refuses a backup whose key isn't the one that it names, and a file of heads that is another audit's: both would never verify."""
    if not key.exists():
        raise NotRestored("the backup has no key of the audit: Levee didn't make it")
    try:
        public = heads.public_key_in(key)
    except ValueError as error:
        raise NotRestored(f"the backup's key of the audit is damaged ({error})") from None
    if public != manifest.public_key:
        raise NotRestored("the backup's key of the audit isn't the one that its manifest names: it was changed")
    if others := (heads.keys() | heads.keys_in(lines)) - {public}:
        raise NotRestored(
            f"{heads.heads_file()} or the backup has heads of another audit's key ({min(others)}); {ELSEWHERE}"
        )


def differences(manifest: Manifest, lines: Sequence[str]) -> list[AuditFinding]:
    """What differs in the loaded chain, against itself and every head, in the file and in the backup, up to its end.

    Each later verification finds these again. Raises NotRestored for what none could find, since the restore takes newer heads back:
    a chain that doesn't end where the backup says, or that lacks what was signed before the backup was made.
    """
    held = heads.held_by((line for part in heads.joined(lines) for line in part), manifest.public_key)
    walk = ChainWalk(0, START, held, manifest.public_key)
    found: list[AuditFinding] = []
    while rows := links(walk.last, SLICE):
        for link in rows:
            found += walk.take(link)
    _check_end(walk, manifest)
    _check_cut(walk.last, held, manifest)
    return [*found, *at_rest(stored_heads(), held)]


def _check_end(walk: ChainWalk, manifest: Manifest) -> None:
    if (walk.last, walk.hash if walk.last else "") != (manifest.sequence, manifest.hash):
        raise NotRestored(
            f"the audit in the backup ends at #{walk.last:,} and isn't the one that the backup names,"
            f" #{manifest.sequence:,}: it was changed"
        )


def _check_cut(last: int, held: HeadsFile, manifest: Manifest) -> None:
    made_at = _time(manifest.made_at)
    before = [
        number
        for number, head in held.heads.items()
        if number > last and _time(head.signed_at) <= made_at and head.is_signed_by(manifest.public_key)
    ]
    if before:
        raise NotRestored(
            f"the audit in the backup ends at #{last:,}, but #{max(before):,} was signed before the backup was made: its end was cut off;"
            f" to look at it all the same, {ELSEWHERE}"
        )


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        time = None
    if time is None or time.tzinfo is None:
        raise NotRestored(f"the backup's time {text!r} is no time with its zone: it was changed")
    return time


def refuse(found: Sequence[AuditFinding]) -> None:
    """Raises NotRestored if anything differs."""
    if found:
        first = " ".join(f"{each.kind}: {each.text}" for each in found[:SHOWN])
        raise NotRestored(
            f"the audit in the backup shows {counted(len(found), 'difference')}, and nothing was restored. {first} Look into them;"
            " `--despite-differences` restores the backup with them, and every verification finds them again"
        )
