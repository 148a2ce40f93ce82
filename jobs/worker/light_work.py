"""The light worker: runs the scans and syncs that people request, and the syncs that are due."""

from __future__ import annotations

import uuid

from jobs.models import Read, Worker
from jobs.reads import file_check, metastore
from jobs.worker import read_executor
from jobs.worker.claims import claim_read
from tables.catalog import light_turns, requested_syncs
from tables.catalog.roots import scans


def one(worker: str) -> bool:
    """Answers the next light read, or syncs the next table that is due; False if there is neither."""
    read = claim_read(Worker.Kind.LIGHT, worker)
    if read is not None:
        read_executor.answer_light(read, ANSWERS)
        return True
    return light_turns.do_next()


def scan(read: Read) -> read_executor.Answer:
    """Scans a root for tables. Raises Problem 409 `root_paused`."""
    return scans.scan_asked(uuid.UUID(read.question["root"]))


def sync(read: Read) -> read_executor.Answer:
    """Reads what is new in a table's log."""
    table = requested_syncs.sync_asked(uuid.UUID(read.question["table"]))
    return {"version": table.version, "sync_error": table.sync_error}


ANSWERS = {"scan": scan, "sync": sync, metastore.ADD: metastore.add_tables, file_check.KIND: file_check.check}
