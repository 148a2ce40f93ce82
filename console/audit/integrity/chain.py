"""The chain: committed events get a number and a hash over themselves and the link before. The database's own function links."""

from __future__ import annotations

from django.db import connection

BATCH = 1_000


def seal_waiting() -> int:
    """Links every committed event that waits, and returns how many. Of two sealers at once, the second does nothing."""
    total = 0
    while did := _seal(BATCH):
        total += did
        if did < BATCH:
            break
    return total


def is_behind() -> bool:
    """Whether events have waited for minutes: the dispatcher is down, or can't seal them."""
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
