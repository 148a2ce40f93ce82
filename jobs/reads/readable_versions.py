"""Which versions of a table can be read, as far as its log tells, before Spark is asked for one that can't."""

from __future__ import annotations

from tables.history.reachability import Span, TableReach, joined
from tables.models import Commit, Table
from tables.record import log_extent
from tables.sync import log_access

EXPIRED = "Version {version:,} can’t be read: it is older than delta.deletedFileRetentionDuration, so Delta refuses it."
SPANS = 3  # the newest ones that are named


def is_known(table: Table) -> bool:
    """Whether the catalog has read the log up to its newest version: else only Spark knows what can be read. It lists the log."""
    return table.version is not None and log_access.head_version(table.path, table.version) == table.version


def fault_of(table: Table, version: int) -> str:
    """Why the version can't be read, with those that can; empty if it can. The catalog must know the log (`is_known`)."""
    if version > (table.version or 0):
        return f"The newest version is {table.version:,}. {_choose(table)}".strip()
    if not log_extent.can_be_rebuilt(table, version):
        return f"Version {version:,} can’t be read. {_choose(table)}".strip()
    return f"{EXPIRED.format(version=version)} {_choose(table)}".strip() if _expired(table, version) else ""


def _expired(table: Table, version: int) -> bool:
    """Whether Delta refuses to read the version by its age, whatever is left of its files."""
    commit = Commit.objects.filter(table=table, incarnation=table.incarnation, version=version).first()
    reach = TableReach(table)
    until = reach.of(commit).until if commit else None
    return until is not None and until < reach.now


def _choose(table: Table) -> str:
    spans = readable(table)
    return f"Readable are {spans}." if spans else ""


def spans_of(table: Table) -> list[Span]:
    """The versions that can be read now, oldest first."""
    return [span for span in joined(TableReach(table).spans) if span.restorable]


def readable(table: Table) -> str:
    """The versions that can be read now: `358–399`, or the newest spans of them; empty if none is known."""
    spans = spans_of(table)
    texts = [f"{span.first:,}" if span.first == span.last else f"{span.first:,}–{span.last:,}" for span in spans]
    named = _merged(texts[-SPANS:])
    return f"{named} and older ones" if len(texts) > SPANS else named


def _merged(texts: list[str]) -> str:
    return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1]) if part) if texts else ""
