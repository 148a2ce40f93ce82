"""Checkpoints: classic, multi-part and V2 (parquet or JSON, with sidecars), read batch by batch.

Two passes: the small actions first, since they name the partition columns and the sidecars, then the files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pyarrow as pa

from tables.deltalog.checkpoints.parquet_file import ParquetFile
from tables.deltalog.checkpoints.rows import Adds, add_rows, grouped
from tables.deltalog.checkpoints.thrift import Malformed
from tables.deltalog.read.actions import Action, AddFile, CheckpointMetadata, Sidecar
from tables.deltalog.read.filenames import LOG, SIDECARS
from tables.deltalog.read.lines import NOT_JSON, read_actions
from tables.deltalog.read.parsing import parse_action
from tables.deltalog.read.paths import decoded
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.state.listing import Checkpoint
from tables.deltalog.state.tail import BATCH_BYTES, batch_of, text_of
from tables.storage.store import Entry, Storage, StorageError

_REMOVE_LEAVES = frozenset(("path", "deletionTimestamp", "size", "deletionVector"))
_OPENING = ("protocol", "metaData", "sidecar")
_SMALL = ("metaData", "protocol", "txn", "domainMetadata", "sidecar", "checkpointMetadata")
_HELD = 16 << 20  # bytes of files that are held from the first pass to the second
_FOLDER = SIDECARS.removeprefix(f"{LOG}/") + "/"


class CheckpointError(Exception):
    """A checkpoint that can't be used; the text says which file and why.

    `damaged` is for a file that isn't there to its end, or isn't parquet: no engine reads it. Without, it is Levee that can't.
    """

    def __init__(self, text: str, *, damaged: bool = False) -> None:
        super().__init__(text)
        self.damaged = damaged


class CheckpointReader:
    """One checkpoint of a log. Raises CheckpointError when a file of it can't be read to the end."""

    def __init__(self, storage: Storage, checkpoint: Checkpoint, problems: Problems) -> None:
        self.checkpoint = checkpoint
        self._storage = storage
        self._problems = problems
        self._sidecars: list[Sidecar] = []
        self._held: dict[str, ParquetFile] = {}

    def small_actions(self) -> Iterator[Action]:
        """Everything but files: protocol, metadata, transactions, domains. Notes the sidecars for `files`."""
        for entry in self.checkpoint.files:
            for action in self._small_of(entry):
                if isinstance(action, Sidecar):
                    self._sidecars.append(action)
                elif isinstance(action, CheckpointMetadata):
                    self._check_version(action, entry)
                else:
                    yield action

    def opening_actions(self) -> Iterator[Action]:
        """Protocol and metadata alone, of its parquet files from the footers and three columns. Notes the sidecars for `check_files`."""
        for entry in self.checkpoint.files:
            for action in self._small_of(entry, _OPENING):
                if isinstance(action, Sidecar):
                    self._sidecars.append(action)
                else:
                    yield action

    def sidecar_paths(self, most: int) -> list[str]:
        """The first of the sidecars that were noted, below the table. Raises CheckpointError for one outside `_sidecars`."""
        return [f"{SIDECARS}/{self._sidecar_name(sidecar)}" for sidecar in self._sidecars[:most]]

    def check_files(self, sidecars: Mapping[str, Entry | None], most_bytes: int) -> None:
        """Opens its parquet files, these sidecars among them, and reads the files that they list if all come to few bytes.

        Raises CheckpointError, damaged for a sidecar that isn't there and for what no engine reads.
        """
        for path, there in sidecars.items():
            if there is None:
                raise CheckpointError(f"{path.removeprefix(f'{LOG}/')} is missing", damaged=True)
        own = {f"{LOG}/{entry.name}": entry for entry in self.checkpoint.files if not entry.name.endswith(".json")}
        whole = sum(entry.size for entry in (*own.values(), *sidecars.values()) if entry) <= most_bytes
        for path in (*own, *sidecars):
            if whole:
                deque(self._adds_in(path, path.removeprefix(f"{LOG}/")), maxlen=0)
            else:
                self._parquet(path)

    def _check_version(self, action: CheckpointMetadata, entry: Entry) -> None:
        if action.version is not None and action.version != self.checkpoint.version:
            reason = f"the checkpoint says it stands for version {action.version}"
            self._problems.add(entry.name, reason, ProblemCode.DISAGREES)

    def _small_of(self, entry: Entry, kinds: tuple[str, ...] = _SMALL) -> Iterator[Action]:
        if entry.name.endswith(".json"):
            for name, value in self._json_actions(entry):
                if name in kinds and (action := parse_action(name, value, entry.name, self._problems)):
                    yield action
            return
        for name, value in self._parquet_values(entry, kinds):
            if action := parse_action(name, value, entry.name, self._problems):
                yield action

    def _json_actions(self, entry: Entry) -> Iterator[tuple[str, Any]]:
        problems = Problems()
        yield from read_actions(self._storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems)
        if problems:
            self._problems.extend(problems.found())
            damaged = all(NOT_JSON in problem.reason for problem in problems.found())
            raise CheckpointError(f"{entry.name} is not readable to its end", damaged=damaged)

    def _parquet_values(self, entry: Entry, kinds: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
        path = f"{LOG}/{entry.name}"
        file = self._parquet(path)
        wanted = [name for name in kinds if name in file.columns]
        for batch in _batches(path, file, wanted):
            for name in wanted:
                with _sound(path):
                    values = _values(batch.column(name))
                for value in values:
                    yield name, value

    def column(self, path: str, lowered: str) -> Iterator[Any]:
        """The values that aren't null of a parquet file's columns of this name, which is in lower case, in whatever case they have it."""
        file = self._parquet(path)
        for batch in _batches(path, file, [name for name in file.columns if name.lower() == lowered]):
            for column in batch.columns:
                with _sound(path):
                    values = _values(column)
                yield from values

    def files(self) -> Iterator[pa.RecordBatch]:
        """The checkpoint's live files as RAW batches."""
        for entry in self.checkpoint.files:
            if entry.name.endswith(".json"):
                yield from self._json_files(entry)
        for parts in grouped(self._parquet_adds()):
            yield from self._rows(parts)

    def _parquet_adds(self) -> Iterator[Adds]:
        names = [entry.name for entry in self.checkpoint.files if not entry.name.endswith(".json")]
        names += [f"{_FOLDER}{self._sidecar_name(sidecar)}" for sidecar in self._sidecars]
        for name in names:
            yield from self._adds_in(f"{LOG}/{name}", name)

    def _rows(self, parts: list[Adds]) -> Iterator[pa.RecordBatch]:
        """RAW rows, of many files at once where nothing is to be said of them: each costs as much as thousands of rows."""
        if len(parts) > 1:
            problems = Problems()
            with suppress(CheckpointError), _sound(""):
                rows = add_rows(pa.concat_arrays([part.rows for part in parts]), "", problems)
                if not problems:
                    yield rows
                    return
        for part in parts:
            with _sound(part.file):
                rows = add_rows(part.rows, part.file, self._problems)
            yield rows

    def removed(self) -> Iterator[dict[str, Any]]:
        """The checkpoint's tombstones as the log has them: `path`, `deletionTimestamp`, `size`, `deletionVector`, where given."""
        for entry in self.checkpoint.files:
            if entry.name.endswith(".json"):
                yield from (value for name, value in self._json_actions(entry) if name == "remove")
            else:
                yield from self._parquet_removed(f"{LOG}/{entry.name}")
        for sidecar in self._sidecars:
            yield from self._parquet_removed(f"{SIDECARS}/{self._sidecar_name(sidecar)}")

    def _parquet_removed(self, path: str) -> Iterator[dict[str, Any]]:
        file = self._parquet(path)
        kind = file.columns.get("remove")
        if kind is None or not pa.types.is_struct(kind):
            return
        leaves = [f"remove.{field.name}" for field in kind if field.name in _REMOVE_LEAVES]
        for batch in _batches(path, file, leaves):
            with _sound(path):
                values = _values(batch.column("remove"))
            yield from values

    def _sidecar_name(self, sidecar: Sidecar) -> str:
        """The protocol keeps sidecars in `_sidecars`; a path to anywhere else is refused, not followed."""
        path = decoded(sidecar.path)
        name = path.rsplit("/", 1)[-1]
        folder = path[: -len(name)].rstrip("/")
        if name in ("", ".", "..") or (folder and not folder.endswith(SIDECARS)) or ".." in folder.split("/"):
            self._problems.add(self.checkpoint.files[0].name, "a sidecar lies outside _sidecars", ProblemCode.OUTSIDE)
            raise CheckpointError("a sidecar lies outside _delta_log/_sidecars, so Levee leaves it alone")
        return name

    def _json_files(self, entry: Entry) -> Iterator[pa.RecordBatch]:
        rows: list[AddFile] = []
        size = 0
        for name, value in self._json_actions(entry):
            if name == "add" and isinstance(action := parse_action(name, value, entry.name, self._problems), AddFile):
                rows.append(action)
                size += text_of(action)
            if len(rows) >= 4096 or size >= BATCH_BYTES:
                yield batch_of(rows)
                rows, size = [], 0
        if rows:
            yield batch_of(rows)

    def _adds_in(self, path: str, name: str) -> Iterator[Adds]:
        file = self._parquet(path)
        kind = file.columns.get("add")
        if kind is None:
            return
        if not pa.types.is_struct(kind):
            raise CheckpointError(f"{name} has an add column that holds no objects")
        leaves = [f"add.{leaf}" for leaf in _add_leaves(kind)]
        for batch in _batches(path, file, leaves):
            with _sound(path):
                rows = batch.column("add").drop_null()
            if len(rows):
                yield Adds(name, rows)

    def _parquet(self, path: str) -> ParquetFile:
        """The file, held for the next pass while there is room."""
        file = self._held.get(path)
        if file is None:
            with _sound(path, opening=True):
                file = ParquetFile(partial(self._storage.open, path))
            if file.held_bytes + sum(other.held_bytes for other in self._held.values()) <= _HELD:
                self._held[path] = file
        return file


def _batches(path: str, file: ParquetFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    batches = file.batches(columns) if columns else iter(())
    while True:
        with _sound(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _values(column: pa.Array) -> list[Any]:
    """The values that aren't null, maps as dicts."""
    if column.null_count == len(column):
        return []
    values: list[Any] = column.drop_null().to_pylist(maps_as_pydicts="lossy")
    return values


@contextmanager
def _sound(path: str, *, opening: bool = False) -> Iterator[None]:
    """Reading and taking apart one piece of a file: whatever Arrow refuses in it makes the checkpoint unusable.

    `opening` is the reading of a footer, where Arrow calls invalid what isn't parquet.

    NotImplementedError, TypeError and LookupError are kinds of columns that can't be told apart or turned into ours, OverflowError
    and ValueError values that Python can't hold, bad UTF-8 among them.
    """
    file = path.removeprefix(LOG + "/")
    try:
        yield
    except StorageError as error:  # of the place it lies in, which says nothing about the file, unless it isn't there
        raise CheckpointError(f"{file} can't be read: {_first_line(error)}", damaged=error.missing) from error
    except OSError as error:
        # pyarrow's own, for pages that end too soon or can't be decoded, has no number of the system's.
        raise CheckpointError(f"{file} can't be read: {_first_line(error)}", damaged=error.errno is None) from error
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError, OverflowError, LookupError) as error:
        text = f"{file} holds what can't be read ({type(error).__name__})"
        raise CheckpointError(
            text, damaged=isinstance(error, Malformed) or (opening and isinstance(error, pa.ArrowInvalid))
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200]


def _add_leaves(kind: pa.StructType) -> list[str]:
    present = {field.name for field in kind}
    wanted = [name for name in ("path", "partitionValues", "size", "modificationTime", "stats") if name in present]
    wanted += [name for name in ("deletionVector", "baseRowId", "defaultRowCommitVersion") if name in present]
    if "stats" not in present and "stats_parsed" in present:
        wanted.append("stats_parsed")
    return wanted
