"""The chain: committed events get a number and a hash over themselves and the link before. The database's own function links."""

from __future__ import annotations

import hashlib
import uuid

from django.db import connection

START = "0" * 64  # what stands before the first link
BATCH = 1_000


def seal_waiting() -> int:
    """Links every event that has been committed and waits; how many. Two sealers at once: the second does nothing."""
    total = 0
    while did := _seal(BATCH):
        total += did
        if did < BATCH:
            break
    return total


def is_behind() -> bool:
    """Whether events have waited for minutes: nobody seals, so the dispatcher is down or can't."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select e.at < clock_timestamp() - interval '5 minutes' from audit.pending p join audit.event e on e.id = p.event"
            " order by p.position limit 1"
        )
        oldest = cursor.fetchone()
    return bool(oldest and oldest[0])


def _seal(most: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("select audit.seal_events(%s)", [most])
        return int(cursor.fetchone()[0])


def link_hash(sequence: int, previous: str, event: uuid.UUID, event_hash: str) -> str:
    """The hash of one link, as audit.link_hash has it."""
    return hashlib.sha256(f"{sequence}:{previous}:{event}:{event_hash}".encode()).hexdigest()
