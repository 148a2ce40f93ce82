"""From a base and the actions after it to a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from tables.deltalog.checkpoints.bases import Base
from tables.deltalog.checkpoints.checksums import Checksum, compare_checksum, compare_opening
from tables.deltalog.read.actions import Action, AddFile, RemoveFile
from tables.deltalog.read.commits import RowsOf, rows_unknown
from tables.deltalog.read.problems import LogProblem, ProblemCode, Problems
from tables.deltalog.read.usual_adds import BareAdds
from tables.deltalog.replay.removed_rows import RemovedRows
from tables.deltalog.rules.opening import stopping_reason
from tables.deltalog.state.livefiles import parted, shape
from tables.deltalog.state.mending import Broken
from tables.deltalog.state.snapshot import Snapshot, physical_partition_columns, save
from tables.deltalog.state.tail import Tail
from tables.storage.store import Entry


@dataclass(frozen=True, slots=True)
class LogHead:
    """The version that a replay ends at, with its checksum where there is one, and what the next replay needs.

    `remember` says of a snapshot's problems what their files are like now.
    """

    version: int
    committed_at: datetime | None
    clock_ms: int | None
    file: Entry | None
    checksum: Checksum | None = None
    remember: Callable[[tuple[LogProblem, ...]], Broken] = lambda problems: {}


class Replay:
    """Takes the actions after `base`, oldest first. Without a target, file actions are passed over. A context: it may spill to disk."""

    def __init__(self, base: Base, target: Path | None, problems: Problems) -> None:
        self.base = base
        self.state = base.state()
        self.complete = base.complete
        self._target = target
        self._problems = problems
        spill = target.with_name(f"{target.name}.tail") if target else None
        self._tail = Tail(spill, over_base=base.version >= 0) if spill else None
        self.removed_rows = RemovedRows()

    def take(self, action: Action | BareAdds) -> None:
        kind = type(action)
        if kind is AddFile or kind is RemoveFile or isinstance(action, BareAdds):
            if self._tail is not None:
                self._tail.take(action)
        else:
            self.state.take(action)

    def rows_of(self, version: int) -> RowsOf:
        """What counts the files that a commit removed, if its actions go to `take`."""
        return rows_unknown if self._tail is None else self.removed_rows.of_tail(version, self._tail)

    def finish(self, head: LogHead) -> Snapshot:
        """The snapshot at `head`. Raises CheckpointError when the base's files can't be read."""
        self._check()
        if self.complete:
            compare_opening(head.checksum, self.state, self._problems)
        if self._target is None or self._tail is None:
            return self._snapshot(head, None, None, None)
        columns = physical_partition_columns(self.state.metadata)
        return save(self._files(self._tail, columns), columns, self._target, partial(self._counted, head))

    def _counted(self, head: LogHead, files: int, size: int | None, rows: int | None) -> Snapshot:
        compare_checksum(head.checksum, files, size, self._problems)
        return self._snapshot(head, files, size, rows)

    def _snapshot(self, head: LogHead, files: int | None, size: int | None, rows: int | None) -> Snapshot:
        problems = self._problems.found()
        return Snapshot(
            version=head.version,
            committed_at=head.committed_at,
            state=self.state,
            num_files=files,
            size_bytes=size,
            num_records=rows,
            files_path=None if files is None else self._target,
            complete=self.complete,
            problems=problems,
            clock_ms=head.clock_ms,
            head_file=head.file,
            broken=head.remember(problems),
        )

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tail is not None:
            self._tail.close()

    def _files(self, tail: Tail, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        touched = tail.touched()
        for batch in self.base.files(columns):
            rest, gone = parted(batch, touched)
            self.removed_rows.look_in(gone)
            yield rest
        for batch in tail.live():
            yield shape(batch, columns)

    def _check(self) -> None:
        if self.state.cut:
            self._problems.add(
                "", "the log holds more transactions and domains than are kept; the first are listed", ProblemCode.MORE
            )
        for missing, name in ((self.state.protocol, "protocol"), (self.state.metadata, "metaData")):
            if missing is None:
                self.complete = False
                self._problems.add("", f"the log holds no readable {name} action", ProblemCode.MISSING)
        if self.state.metadata is not None and not self.state.metadata.schema_json:
            self.complete = False
            self._problems.add("", "the newest metaData has no schema", ProblemCode.MISSING)
        if self.complete and (reason := stopping_reason(self.state.protocol, self.state.metadata)):
            self._problems.add("", reason, ProblemCode.STOPS_SPARK)
