"""What the light worker does: scans and syncs that somebody asked for, and syncs that are due."""

from __future__ import annotations

import uuid

from jobs import answering
from jobs.claims import claim_read
from jobs.models import Read, Worker
from tables import scans
from tables import services as catalog


def one(worker: str) -> bool:
    """Answers the next light read, or syncs the next table that is due; False when there is neither."""
    read = claim_read(Worker.Kind.LIGHT, worker)
    if read is not None:
        answering.answer_light(read, {"scan": scan, "sync": sync})
        return True
    return catalog.sync_next_due()


def scan(read: Read) -> answering.Answer:
    """Looks through a root."""
    return scans.scan_root(uuid.UUID(read.question["root"]))


def sync(read: Read) -> answering.Answer:
    """Reads what is new in a table's log."""
    table = catalog.sync_asked(uuid.UUID(read.question["table"]))
    return {"version": table.version, "sync_error": table.sync_error}
