"""Missing files as the table's history meets them: what leaves the live files was missing in the versions that had it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import pyarrow as pa

from tables.deltalog.read.data_files import below
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.replay.needed_files import live_names, needed_until
from tables.deltalog.rules import lost_versions
from tables.deltalog.rules.lost_versions import Lost
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Table
from tables.record import file_check


def follow(table: Table, log: DeltaLog, snapshot: Snapshot) -> None:
    """Takes out of the last check what the newest version no longer has, unsaved; what was missing of it is lost to older versions."""
    check = table.file_check
    if check is None or not file_check.has_findings(check):
        return
    live = _paths(table.path, snapshot.files())
    gone = {each["path"] for each in check["named"] if each["path"] not in live}
    missing = {each["path"] for each in check["named"] if each["path"] in gone and each["stored"] is None}
    if missing and check["version"] < snapshot.version:
        lost = observed(log, table, check["version"], missing, datetime.fromisoformat(check["at"]), snapshot.version)
        note(table, lost)
    if gone:
        table.file_check = file_check.without(check, gone)


def observed(
    log: DeltaLog, table: Table, version: int, paths: Collection[str], at: datetime, head: int | None = None
) -> Lost:
    """That storage lacks these files of a version, decoded and below the table. Reads the commits after it."""
    newest = table.version if head is None else head
    until = version if newest is None else needed_until(log, table.path, version, newest, paths)
    return Lost(0, version, until, min(paths), len(paths), at)


def note(table: Table, lost: Lost) -> None:
    """Keeps the observation, unsaved."""
    known = lost_versions.with_missing(lost_versions.of_json(table.lost_files), lost)
    table.lost_files = [each.as_json() for each in known]


def _paths(location: str, files: pa.Table) -> set[str]:
    return {inner for text, _ in live_names(files) if (inner := below(location, text)) is not None}
