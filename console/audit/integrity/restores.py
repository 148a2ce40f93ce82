"""Restored backups, as the lines signed outside the database have them: what the instance did between a backup and its restore is in no
record of its own. Events prove nothing of it: the application's role may insert any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from console.audit.actions import Action, EventOutcome
from console.audit.integrity import heads
from console.audit.integrity.heads import Restored
from console.audit.models import Event


def gaps() -> list[tuple[datetime, datetime]]:
    """From when to when the record lacks what was done: (the backup was made, it was restored)."""
    return [(made_at(line), restored_at(line)) for line in heads.exported().restores]


def made_at(line: Restored) -> datetime:
    """When the backup was made."""
    return datetime.fromisoformat(line.made_at)


def restored_at(line: Restored) -> datetime:
    """When it was restored."""
    return datetime.fromisoformat(line.restored_at)


def note_on(at: datetime | None) -> str:
    """What to say of something done at that time which names an act that Levee doesn't know; empty outside such a gap."""
    for made, restored in gaps() if at else ():
        if at and made <= at <= restored:
            return (
                f" Levee was restored at {restored:%Y-%m-%d %H:%M} UTC from a backup of {made:%Y-%m-%d %H:%M} UTC,"
                " and this is from between the two: it may be Levee’s own work that its record has lost."
            )
    return ""


def sentence(line: Restored) -> str:
    """What every verification says of a restore, whatever else it finds."""
    given_up = f"; heads up to #{line.last_head:,} were given up" if line.last_head else ""
    return (
        f"taken back to #{line.restored_to:,} at {restored_at(line):%Y-%m-%d %H:%M} UTC,"
        f" by a restore of a backup of {made_at(line):%Y-%m-%d %H:%M} UTC{given_up}"
    )


def unrecorded(lines: Sequence[Restored]) -> Iterator[Restored]:
    """Restores without their event, which the instance records with each: somebody has signed the line past Levee.

    The event of one is gone as well where a later one put an even older backup back.
    """
    for number, line in enumerate(lines):
        if any(made_at(later) <= restored_at(line) for later in lines[number + 1 :]):
            continue
        events = Event.objects.filter(action=Action.INSTANCE_RESTORE, outcome=EventOutcome.ALLOWED)
        if not events.filter(after__made_at=line.made_at, after__sequence=line.restored_to).exists():
            yield line
