"""What the light worker does: scans for the asker, and syncs that are due."""

from __future__ import annotations

import uuid

from jobs import answering
from jobs.claims import claim_read
from jobs.models import Read, Worker
from tables import services as catalog


def one(worker: str) -> bool:
    """Answers the next light read, or syncs the next table that is due; False when there is neither."""
    read = claim_read(Worker.Kind.LIGHT, worker)
    if read is not None:
        answering.answer_light(read, {"scan": _scan})
        return True
    return catalog.sync_next_due()


def _scan(read: Read) -> answering.Answer:
    return catalog.scan_root(uuid.UUID(read.question["root"]))
