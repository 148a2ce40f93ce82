"""The state of a table in one word, as lists and headers show it, and what holds for all tables of its kind."""

from __future__ import annotations

from console.templatetags.formatting.looks import StateLook
from tables.catalog import freshness
from tables.models import Table
from tables.rules.health_findings import HealthCode
from tables.storage.stores import kind_of


def has_unguarded_writers(table: Table) -> bool:
    """Whether a writer outside of Levee can overwrite a commit unseen: Delta's usual log store for S3 doesn't write on a condition."""
    return table.is_delta and not kind_of(table.path).guards_commits


def state_of(table: Table) -> StateLook:
    """The state shown in lists and headers, worst news first."""
    if table.missing_since:
        return StateLook("bad", "circle-x", "missing")
    if table.sync_error:
        return StateLook("unknown", "help-circle", "can’t be read")
    if HealthCode.NEEDS_FEATURE.value in table.health_codes:
        return StateLook("unknown", "help-circle", "needs a feature")
    if HealthCode.CORRUPT_LOG.value in table.health_codes:
        return StateLook("bad", "circle-x", "corrupt log")
    if HealthCode.STOPS_SPARK.value in table.health_codes:
        return StateLook("bad", "circle-x", "Spark can’t open it")
    if HealthCode.UNREADABLE_COLUMNS.value in table.health_codes:
        return StateLook("bad", "circle-x", "Spark can’t read it")
    for code in (HealthCode.FILES_MISSING, HealthCode.VECTORS_MISSING, HealthCode.FILE_SIZES):
        if code.value in table.health_codes:
            return StateLook("bad", "circle-x", code.label.lower())
    codes = [code for code in freshness.codes_of(table) if code != HealthCode.RECREATED.value]
    if len(codes) == 1:
        return StateLook("wait", "alert-triangle", HealthCode(codes[0]).label.lower())
    if codes:
        return StateLook("wait", "alert-triangle", f"{len(codes)} warnings")
    if table.synced_at:
        return StateLook("ok", "circle-check", "good")
    return (
        StateLook("run", "loader-2", "being read")
        if table.next_sync_at
        else StateLook("idle", "info-circle", "not read yet")
    )
