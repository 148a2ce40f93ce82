"""What must hold before a round: links lead nowhere else, and source, table and checkpoint are those that the stream had."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from jobs.commands.stream_round.rules import COMPLETE, Definition, FileSource, StreamRound, TableSource
from jobs.commands.stream_round.spark.offsets import Offset, last_offsets, newest_planned, query_id_of
from jobs.commands.stream_round.spark.reset import existing
from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.commits.metadata_log import metadata_log_files
from jobs.engine.directory import Directory, changing, judged, refuse_foreign_sidecars
from jobs.engine.inside import refuse_outside_commits
from jobs.engine.versions import table_at, version_of
from jobs.engine.walk import DELTA_LOG, holds_table, is_hidden_directory, is_hidden_file
from tables.storage.stores import tree_at
from tables.storage.trees import DIRECTORY, Tree

RESET = "Reset the stream: its next round then starts a new query, which reads the source from its start."
RESET_TARGET = (
    "Look at what happened to the table. Reset the stream to load the source into the table that is there now."
)
EMPTY = "Choose an empty directory or a Delta table; convert the files first if they are to stay."
LOG_REMEDY = "Read the directory that holds the files, or remove the log if it belongs to another directory."

# How Delta names a data file. A first batch that was killed leaves some behind, and no log yet.
LEFTOVER = re.compile(r"part-\d{5}-[0-9a-f-]{36}[.-]c\d{3}(?:\.\w+)?\.parquet")


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a round works, as it was before: the target's path, Delta's object of it (None: no table yet), its version (-1)."""

    path: str
    table: Any | None
    head: int
    directories: tuple[Directory, ...]

    def check(self) -> None:
        """Raises CommandRefused if a directory isn't what it was."""
        for directory in self.directories:
            directory.check()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Wraps the query. Raises DirectorySwapped, before any other error, if a directory was swapped meanwhile."""
        with ExitStack() as stack:
            for directory in self.directories:
                stack.enter_context(changing(directory))
            yield

    def newest_batch(self, query_id: str) -> int | None:
        """The number of the query's last batch that the table held before; None if it held none."""
        if self.table is None:
            return None
        known = self.table.initialSnapshot().transactions().get(query_id)
        return None if known.isEmpty() else int(known.get())


def checked_ground(session: SparkSession, command: StreamRound, definition: Definition) -> Ground:
    """Raises CommandRefused: `outside_roots`, `not_a_file`, `not_found`, `unreadable`, `not_delta`, `target_changed`,
    `source_recreated`, `foreign_checkpoint`, `checkpoint_gone`, `checkpoint_older`."""
    checkpoint = _checkpoint(command, definition.checkpoint)
    source = _source(session, definition)
    target, table = _target(session, command, definition)
    directories = (source, target) if checkpoint is None else (source, target, checkpoint)
    ground = Ground(definition.path, table, -1 if table is None else version_of(table), directories)
    _refuse_older(ground, definition.checkpoint)
    return ground


def _refuse_older(ground: Ground, checkpoint: str) -> None:
    """A checkpoint from before the table's last batch, as from a backup: Delta would skip the new rows of the batches it has."""
    query = query_id_of(checkpoint)
    newest = None if query is None else ground.newest_batch(query)
    planned = newest_planned(checkpoint)
    if newest is not None and newest > planned:
        has = f"ends at batch {planned}" if planned >= 0 else "has none"
        text = (
            f"The table at {ground.path} has batch {newest} of this query, and the checkpoint at {checkpoint} {has}: Delta would take"
            " new rows for batches that it has, and skip them."
        )
        raise CommandRefused(Refusal("checkpoint_older", text, place=checkpoint, remedy=RESET))


def _checkpoint(command: StreamRound, path: str) -> Directory | None:
    directory = existing(path)
    if directory is not None:
        directory.check()
    if command.query_id is None:
        return directory
    found = None if directory is None else query_id_of(path)
    if found is None:
        text = f"The stream's checkpoint is gone from {path}: a new one would load the source from its start again."
        raise CommandRefused(Refusal("checkpoint_gone", text, place=path, remedy=f"Put it back. Or: {RESET}"))
    if found != command.query_id:
        text = f"The checkpoint at {path} belongs to query {found}, and the stream's is {command.query_id}."
        raise CommandRefused(
            Refusal("foreign_checkpoint", text, place=path, remedy=f"Put the stream's own back. Or: {RESET}")
        )
    return directory


def _source(session: SparkSession, definition: Definition) -> Directory:
    source = definition.source
    if isinstance(source, TableSource):
        return _table_source(session, source, last_offsets(definition.checkpoint))
    return _file_source(source)


def _file_source(source: FileSource) -> Directory:
    directory = Directory(source.path)
    directory.check()
    try:
        metadata_log_files(tree_at(source.path))
    except CommandRefused as refused:  # Spark reads what the log lists, wherever it lies
        raise CommandRefused(*(replace(refusal, remedy=LOG_REMEDY) for refusal in refused.refusals)) from refused
    return directory


def _table_source(session: SparkSession, source: TableSource, offsets: list[Offset]) -> Directory:
    directory = judged(source.path)
    table = table_at(session, directory, None)
    found = _id_of(table)
    if found != source.table_id:
        text = f"The source table was recreated at {source.path} (id {found}, not {source.table_id})."
        raise CommandRefused(
            Refusal("source_recreated", text, place=source.path, remedy=f"Check the stream's source. {RESET}")
        )
    for offset in offsets:
        if offset.is_snapshot:
            table_at(session, directory, offset.version)
    head = version_of(table)
    refuse_outside_commits(session, table, source.path, _first_commit(source, offsets, head), head)
    return directory


def _first_commit(source: TableSource, offsets: list[Offset], head: int) -> int:
    """The first commit whose files a round may read, if it reads commits. A batch without a commit runs again from the one before."""
    firsts = [offset.version for offset in offsets]
    if len(offsets) < 2 and source.starting_version is not None:
        firsts.append(source.starting_version)
    if len(offsets) < 2 and source.starting_timestamp is not None:
        firsts.append(0)
    return min(firsts, default=head + 1)


def _target(session: SparkSession, command: StreamRound, definition: Definition) -> tuple[Directory, Any | None]:
    directory = Directory(definition.path)
    directory.check()
    storage = tree_at(definition.path)
    if not holds_table(storage, DELTA_LOG):
        _refuse_gone(command, definition.path)
        _refuse_files(storage, begun=query_id_of(definition.checkpoint) is not None)
        return directory, None
    refuse_foreign_sidecars(definition.path)
    table = table_at(session, directory, None)
    found = _id_of(table)
    if command.table_id not in (None, found):
        text = f"The table at {definition.path} was recreated since the stream's last round (id {found}, not {command.table_id})."
        raise CommandRefused(Refusal("target_changed", text, place=definition.path, remedy=RESET_TARGET))
    if command.table_id is None and definition.output_mode == COMPLETE and not command.replaces:
        _refuse_foreign(table, definition)
    return directory, table


def _refuse_foreign(table: Any, definition: Definition) -> None:
    """A Complete stream that was to make its table, and finds another's there: that would remove rows which nobody approved."""
    query = query_id_of(definition.checkpoint)
    if query is None or not table.initialSnapshot().transactions().contains(query):
        text = f"There was no table at {definition.path} when the round was opened, and now there is one that the stream didn't make."
        remedy = "Start the stream again: it asks for the approval that replacing this table's rows needs."
        raise CommandRefused(Refusal("target_changed", text, place=definition.path, remedy=remedy))


def _refuse_gone(command: StreamRound, path: str) -> None:
    if command.table_id is not None:
        text = f"There is no table at {path} any more."
        raise CommandRefused(Refusal("target_changed", text, place=path, remedy=RESET_TARGET))


def _refuse_files(storage: Tree, *, begun: bool) -> None:
    """Refuses a target without a log that holds files, unless the stream has `begun` and they can be of its own first batch."""
    for name in _visible(storage):
        if not begun or not LEFTOVER.fullmatch(name.rpartition("/")[2]):
            text = f"{storage.root} holds files and isn't a Delta table, such as {name}."
            raise CommandRefused(Refusal("not_delta", text, place=storage.root, remedy=EMPTY))


def _visible(storage: Tree) -> Iterator[str]:
    """The files of a directory that Delta would take for data, named from there."""
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        for name, kind in _names(storage, directory):
            path = f"{directory}/{name}" if directory else name
            if kind == DIRECTORY and not is_hidden_directory(name):
                waiting.append(path)
            elif kind != DIRECTORY and not is_hidden_file(name):
                yield path


def _names(storage: Tree, directory: str) -> Iterator[tuple[str, str]]:
    try:
        for name, kind, _ in storage.entries(directory):
            yield name, kind
    except FileNotFoundError:
        if storage.is_near:
            raise  # an object store has no empty directory: one without objects isn't there


def _id_of(table: Any) -> str:
    return str(table.initialSnapshot().metadata().id())
