"""One commit, summed up: what its writer said and what its actions did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tables.deltalog.read.actions import (
    Action,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    UnknownAction,
)
from tables.deltalog.read.fields import from_millis
from tables.deltalog.read.file_sums import FileSums, Removal
from tables.deltalog.read.filenames import LOG
from tables.deltalog.read.parsing import commit_actions
from tables.deltalog.read.problems import LogProblem, ProblemCode, Problems
from tables.deltalog.read.times import Clock
from tables.deltalog.read.usual_adds import BareAdds
from tables.deltalog.read.vector_files import is_vector_file
from tables.storage.store import Chunks, Entry


@dataclass(frozen=True, slots=True)
class LogCommit:
    """One version of a table's history.

    `committed_at` is what DESCRIBE HISTORY shows (times.py), by the newest metadata that was known when the commit was read. Sizes are
    bytes, times UTC. Sums (`added_bytes`, `rows_added`, …) are None when a part of them is unknown; rows are those a reader sees,
    without deletion vectors. `removal` says what the removed files did to them. `operation_parameters` and `operation_metrics` hold
    the texts of DESCRIBE HISTORY. `metadata` and `protocol` are set when this commit wrote them. `problems` says what of this
    commit could not be read.
    """

    version: int
    committed_at: datetime
    modified_at: datetime
    in_commit_timestamp: datetime | None
    size_bytes: int
    operation: str | None
    operation_parameters: dict[str, str | None]
    operation_metrics: dict[str, str | None]
    user_id: str | None
    user_name: str | None
    engine_info: str | None
    isolation_level: str | None
    is_blind_append: bool | None
    read_version: int | None
    txn_id: str | None
    user_metadata: str | None
    num_added_files: int
    num_removed_files: int
    added_bytes: int | None
    removed_bytes: int | None
    rows_added: int | None
    rows_removed: int | None
    removal: Removal
    data_change: bool
    metadata: Metadata | None
    protocol: Protocol | None
    transactions: tuple[SetTransaction, ...]
    domain_metadata: tuple[DomainMetadata, ...]
    unknown_actions: tuple[str, ...]
    problems: tuple[LogProblem, ...]


_UNSAID = CommitInfo(None, None, None, {}, {}, None, None, None, None, None, None, None, None)


_MOST = 1000
"""Transactions, domains and unknown names that are listed per commit: a hostile one can hold millions."""

_MOST_TEXT = 4 << 20
"""Characters of their names and configurations that are held at once."""

_Kept = TypeVar("_Kept")

RowsOf = Callable[[RemoveFile, FileSums], None]
"""Counts a removed file whose removal doesn't tell its rows, with its rows where they are known otherwise."""


def rows_unknown(action: RemoveFile, sums: FileSums) -> None:
    """For who reads a commit alone: the rows of its removed files stand in other commits."""
    sums.remove(action, None)


class Tally:
    """Adds up the actions of one commit as they pass by; keeps none of the file actions."""

    def __init__(self, file: str, problems: Problems, rows_of: RowsOf = rows_unknown) -> None:
        self.file = file
        self.problems = problems
        self._rows_of = rows_of
        self.info: CommitInfo | None = None
        self.metadata: Metadata | None = None
        self.protocol: Protocol | None = None
        self.transactions: dict[str, SetTransaction] = {}
        self.domains: dict[str, DomainMetadata] = {}
        self.unknown: dict[str, None] = {}
        self._kept_text = 0
        self.sums = FileSums()
        self.data_change = False

    def take(self, action: Action | BareAdds) -> None:
        _TAKERS.get(type(action), _ignore)(self, action)

    def _add(self, action: AddFile) -> None:
        self.sums.add(action)
        self.data_change = self.data_change or bool(action.data_change)

    def _bare(self, adds: BareAdds) -> None:
        self.sums.add_bare(adds)
        self.data_change = self.data_change or adds.data_changes > 0

    def _remove(self, action: RemoveFile) -> None:
        self.data_change = self.data_change or bool(action.data_change)
        rows = 0 if action.data_change is False and is_vector_file(action.path) else action.rows
        if rows is None:
            self._rows_of(action, self.sums)
        else:
            self.sums.remove(action, rows)

    def _info(self, action: CommitInfo) -> None:
        self._once(self.info, "commitInfo")
        self.info = action

    def _metadata(self, action: Metadata) -> None:
        self._once(self.metadata, "metaData")
        self.metadata = action

    def _protocol(self, action: Protocol) -> None:
        self._once(self.protocol, "protocol")
        self.protocol = action

    def _once(self, before: object, name: str) -> None:
        if before is not None:
            code = ProblemCode.ODD if name == "commitInfo" else ProblemCode.CORRUPT
            self.problems.add(self.file, f"more than one {name} action; the last one is taken", code)

    def _txn(self, action: SetTransaction) -> None:
        self._keep(self.transactions, action.app_id, action, "txn")

    def _domain(self, action: DomainMetadata) -> None:
        self._keep(self.domains, action.domain, action, "domainMetadata")

    def _unknown(self, action: UnknownAction) -> None:
        self._keep(self.unknown, action.name, None, "unknown")

    def _keep(self, kept: dict[str, _Kept], key: str, value: _Kept, name: str) -> None:
        size = len(key) + (len(value.configuration) if isinstance(value, DomainMetadata) else 0)
        if (len(kept) < _MOST or key in kept) and self._kept_text + size <= _MOST_TEXT:
            kept[key] = value
            self._kept_text += size
        else:
            reason = f"more {name} actions than the {_MOST:,} (or {_MOST_TEXT >> 20} MiB) that are listed"
            self.problems.add(self.file, reason, ProblemCode.MORE)

    def commit(self, version: int, entry: Entry, clock: Clock) -> LogCommit:
        info, sums = self.info or _UNSAID, self.sums
        return LogCommit(
            version,
            clock.tell(version, entry.modified_ms, info.in_commit_timestamp),
            from_millis(entry.modified_ms),
            info.in_commit_timestamp,
            entry.size,
            info.operation,
            info.operation_parameters,
            info.operation_metrics,
            info.user_id,
            info.user_name,
            info.engine_info,
            info.isolation_level,
            info.is_blind_append,
            info.read_version,
            info.txn_id,
            info.user_metadata,
            sums.added,
            sums.removed,
            sums.added_bytes,
            sums.removed_bytes,
            sums.rows_added,
            sums.rows_removed,
            sums.removal,
            self.data_change,
            self.metadata,
            self.protocol,
            tuple(self.transactions.values()),
            tuple(self.domains.values()),
            tuple(self.unknown),
            self.problems.found(),
        )


def _ignore(tally: Tally, action: object) -> None:
    """Sidecars and checkpoint metadata have no place in a commit; files of the change feed hold no rows of the table."""


_TAKERS: dict[type, Callable[[Tally, object], None]] = {  # one look-up per action instead of a chain of comparisons
    AddFile: Tally._add,  # type: ignore[dict-item]
    BareAdds: Tally._bare,  # type: ignore[dict-item]
    RemoveFile: Tally._remove,  # type: ignore[dict-item]
    CommitInfo: Tally._info,  # type: ignore[dict-item]
    Metadata: Tally._metadata,  # type: ignore[dict-item]
    Protocol: Tally._protocol,  # type: ignore[dict-item]
    SetTransaction: Tally._txn,  # type: ignore[dict-item]
    DomainMetadata: Tally._domain,  # type: ignore[dict-item]
    UnknownAction: Tally._unknown,  # type: ignore[dict-item]
}


def read_commit(
    storage: Chunks,
    version: int,
    entry: Entry,
    clock: Clock,
    sink: Callable[[Action | BareAdds], None] | None = None,
    rows_of: RowsOf = rows_unknown,
) -> LogCommit:
    """Reads one commit's file once, line by line; every action also goes to `sink`, after it was counted.

    `rows_of` counts the removed files whose rows the commit doesn't tell.
    """
    problems = Problems(limit=20)
    tally, empty = Tally(entry.name, problems, rows_of), True
    for action in commit_actions(storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems):
        empty = False
        tally.take(action)
        if sink is not None:
            sink(action)
    if empty and not problems:
        problems.add(entry.name, "the commit holds no action", ProblemCode.EMPTY)
    return tally.commit(version, entry, clock)
