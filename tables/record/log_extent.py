"""What a table's log still holds: which commits, and which versions can be rebuilt from them and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterable

from tables.deltalog.read.filenames import LOG, commit_version
from tables.deltalog.replay.log import DeltaLog
from tables.deltalog.state.listing import Listing, read_listing
from tables.models import Table
from tables.storage.store import Entry

MOST = 100  # ranges that are kept, the newest ones: a log has few gaps, a hostile one any number

_ANY = Entry("", 0, 0)


def measure(table: Table, log: DeltaLog) -> None:
    """Sets what the log holds up to the table's version, unsaved. Reads names alone. Raises StorageError."""
    listing = _listing(log)
    head = -1 if table.version is None else table.version
    spans = [range(span.start, min(span.stop, head + 1)) for span in listing.rebuildable if span.start <= head][-MOST:]
    table.first_version = listing.earliest_commit
    table.checkpoint_version = listing.checkpoints[-1].version if listing.checkpoints else None
    table.first_readable = spans[0].start if spans else None
    table.rebuildable = [[span.start, span.stop - 1] for span in spans]
    table.lost_commits = _joined([[gap.start, gap.stop - 1] for gap in _gaps(listing.commits, head)])


def _listing(log: DeltaLog) -> Listing:
    """The log's commits and complete checkpoints, by their names alone: sizes and times would cost a look at each file."""
    commits: list[int] = []
    others: list[Entry] = []
    for name in log.storage.names(LOG):
        if (version := commit_version(name)) is not None:
            commits.append(version)
        elif "checkpoint" in name:
            others.append(Entry(name, 0, 0))
    return Listing(commits=dict.fromkeys(sorted(commits), _ANY), checkpoints=read_listing(others).checkpoints)


def _gaps(commits: Iterable[int], head: int) -> list[range]:
    """What is missing between the oldest commit and the head."""
    gaps: list[range] = []
    before: int | None = None
    for version in commits:
        if before is not None and version > before + 1:
            gaps.append(range(before + 1, min(version, head + 1)))
        before = version
    if before is not None and before < head:
        gaps.append(range(before + 1, head + 1))
    return [gap for gap in gaps if gap]


def _joined(gaps: list[list[int]]) -> list[list[int]]:
    """At most MOST gaps: the oldest count as one, whatever lies between them."""
    if len(gaps) <= MOST:
        return gaps
    rest = len(gaps) - MOST
    return [[gaps[0][0], gaps[rest][1]], *gaps[rest + 1 :]]


def rebuildable(table: Table) -> list[range]:
    """The versions whose state the log can rebuild, none while the directory is missing."""
    if table.version is None or table.first_readable is None or table.missing_since:
        return []
    if table.rebuildable is None:  # not measured since this is known
        return [range(table.first_readable, table.version + 1)]
    spans = (range(max(first, table.first_readable), last + 1) for first, last in table.rebuildable)
    return [span for span in spans if span]


def can_be_rebuilt(table: Table, version: int) -> bool:
    """Whether the log can rebuild the version."""
    return any(version in span for span in rebuildable(table))


def in_log(table: Table, version: int) -> bool:
    """Whether the version's commit is still in the log."""
    if table.first_version is None or version < table.first_version or table.missing_since:
        return False
    return not any(first <= version <= last for first, last in table.lost_commits or ())
