"""Reads of the rows that differ between two versions, refused at once where the log tells that there is too much to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.domain.read_limits import APART, CLOSER, CODE, excess, sentence
from jobs.models import Read
from jobs.reads.readable_versions import fault_of, is_known
from jobs.reads.rows import ROW_DIFF, queued
from tables.history import queries, version_files
from tables.history.reachability import TableReach
from tables.models import Table


def ask_row_diff(actor: Actor, table: Table, given: Mapping[str, Any]) -> Read:
    """Queues the read. `given` holds `from_version`, `to_version`, which is the newer one, and `limit`.

    Raises Problem 400 `invalid`, 403 `outside_roots`, 404 when the directory is gone, 410 `version_gone`, 422 `too_much_to_read`, 503.
    """
    first, last = int(given["from_version"]), int(given["to_version"])
    if first >= last:
        text = "to_version: must be a later version than from_version"
        raise Problem(400, "invalid", text, fields={"to_version": "must be a later version than from_version"})
    if is_known(table):
        _refuse_unreadable(table, first, last)
        _refuse_too_much(table, first, last)
    return queued(actor, ROW_DIFF, table, given, last, by_name=False)


def _refuse_unreadable(table: Table, *versions: int) -> None:
    for version in versions:
        if fault := fault_of(table, version):
            raise Problem(410, "version_gone", fault)


def _refuse_too_much(table: Table, first: int, last: int) -> None:
    """Judges by the log. A change feed may have less to read than the files."""
    if _has_feed(table, first, last):
        return
    sums = queries.between(table, first, last)
    known = (sums["files_added"], sums["files_removed"], sums["bytes_added"], sums["bytes_removed"])
    if sums["count"] == last - first and None not in known:
        most_files, most_bytes = (known[0] or 0) + (known[1] or 0), (known[2] or 0) + (known[3] or 0)
        rows = [sums["rows_added"], sums["rows_removed"]]
        if not excess(APART, most_files, most_bytes, None if None in rows else sum(each or 0 for each in rows)):
            return  # what commits did in between is never less than what is left of it
    apart = version_files.apart(table, first, last)
    if too_much := excess(APART, apart.files, apart.bytes, apart.rows):
        raise Problem(422, CODE, f"{sentence(too_much)} {CLOSER}")


def _has_feed(table: Table, first: int, last: int) -> bool:
    """Whether the feed was on, and can still be read, for each commit in between."""
    between = [span for span in TableReach(table).spans if span.last > first and span.first <= last]
    return bool(between) and all(span.change_feed for span in between)
