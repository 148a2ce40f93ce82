"""What the light worker does between the questions that people ask it."""

from __future__ import annotations

from tables.catalog import facets
from tables.catalog.adding import bulk as bulk_additions
from tables.catalog.lately import days
from tables.catalog.roots import scans
from tables.sync import unchanged

TURN_S = 0.25  # of syncs, while a person's question may come


def do_next() -> bool:
    """Some of all that waits: a turn of a scan, a batch of finds to add, a root's counts and days, and the syncs that are longest past
    their time. None of them waits until another has run out of work. False when nothing waits.
    """
    done = [scans.scan_next_asked(), bulk_additions.work_next(), facets.refresh_next(), days.refresh_next()]
    # A lake that has come in is read without asking after each table for all that there isn't.
    return unchanged.sync_claimed(0 if any(done) else TURN_S) or any(done)
