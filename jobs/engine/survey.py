"""Distributes the inspection of a directory over Spark's tasks and merges their findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from console.base.text import counted
from jobs.domain import partition_values
from jobs.domain.footers import chunks, times
from jobs.domain.partitions import PartitionField
from jobs.engine import walk
from jobs.engine.commits.metadata_log import metadata_log_files
from jobs.engine.footers import reading
from jobs.engine.walk import DELTA_LOG, WalkFindings, WalkOrder, WorkShare, holds_table, is_hidden_directory
from tables.deltalog.checkpoints import thrift
from tables.rules import table_formats
from tables.storage import stores
from tables.storage.trees import DIRECTORY, Tree

# Executors need no copy of Levee: the code that runs there travels with the task.
for _module in (counted, partition_values, thrift, table_formats, chunks, times, reading, walk, *stores.TRAVELLING):
    cloudpickle.register_pickle_by_value(_module)

# A Python task costs about 20 ms; one per few hundred files keeps cores busy and progress visible.
FILES_PER_TASK = 500
TASKS_PER_SLOT = 4
# Directories that the driver opens itself to find enough shares.
DRIVER_DIRECTORIES = 200
# The driver lists 5,000 files in 0.1 s, a Spark job in 0.4 s.
FILES_IN_DRIVER = 20_000


def survey(
    session: SparkSession,
    path: str,
    *,
    fields: Sequence[PartitionField] = (),
    footers: bool = True,
    only: Iterable[tuple[str, int, int]] | None = None,
    expected: int | None = None,
) -> WalkFindings:
    """Everything that tasks find in the directory `path`; with `only` (relative path, size, changed_ns), in those files alone.

    `expected` is the approximate number of files: the driver itself lists a few local ones, in less time than Spark needs to start
    a task. Keeps nothing per file beyond the first walk.LINES. Raises FileNotFoundError or NotADirectoryError for the path itself.
    """
    typed = tuple((field.name, field.type) for field in fields)
    order = WalkOrder(path, footers, typed, reach=stores.reach_of(path))
    place = stores.tree_at(path)
    slots = max(1, session.sparkContext.defaultParallelism)
    listed = tuple(only) if only is not None else metadata_log_files(place)
    shares = _named(listed, slots) if listed is not None else _shares(place, slots)
    few = expected is not None and expected <= FILES_IN_DRIVER and not footers and place.is_near
    findings = walk.scan(shares, order) if few else _run(session, _packed(shares, slots), order)
    if listed is not None and only is None:
        findings.count("from metadata log")
    return findings


def is_table(path: str) -> bool:
    """Whether the directory itself is a Delta table: its log holds a commit or checkpoint."""
    return holds_table(stores.tree_at(path), DELTA_LOG)


def _run(session: SparkSession, packs: list[list[WorkShare]], order: WalkOrder) -> WalkFindings:
    findings = WalkFindings()
    if not packs:
        return findings
    tasks = session.sparkContext.parallelize(packs, len(packs))
    for part in tasks.map(partial(walk.scan, order=order)).collect():
        findings.merge(part, order.lines)
    return findings


def _shares(place: Tree, slots: int) -> list[WorkShare]:
    """Trees and slices of directories: the driver lists directories level by level until there are enough trees."""
    shares: list[WorkShare] = []
    level, opened = [""], 0
    while level and len(level) < TASKS_PER_SLOT * slots and opened + len(level) <= DRIVER_DIRECTORIES:
        below: list[str] = []
        for directory in level:
            count, children = _look(place, directory)
            shares += _slices(directory, count, slots)
            below += children
        opened += len(level)
        level = below
    return shares + [WorkShare(tree=directory) for directory in level]


def _look(place: Tree, directory: str) -> tuple[int, list[str]]:
    """(other entries, visible subdirectories) of one directory."""
    count, children = 0, []
    prefix = f"{directory}/" if directory else ""
    for name, kind, _ in place.entries(directory):
        if kind == DIRECTORY and not is_hidden_directory(name):
            children.append(prefix + name)
        else:
            count += 1
    return count, sorted(children)


def _slices(directory: str, count: int, slots: int) -> list[WorkShare]:
    parts = min(-(-count // FILES_PER_TASK), TASKS_PER_SLOT * slots)
    return [WorkShare(files_of=directory, part=part, of=parts) for part in range(parts)]


def _named(files: tuple[tuple[str, int, int], ...], slots: int) -> list[WorkShare]:
    size = max(FILES_PER_TASK, -(-len(files) // (TASKS_PER_SLOT * slots)))
    return [WorkShare(names=files[at : at + size]) for at in range(0, len(files), size)]


def _packed(shares: list[WorkShare], slots: int) -> list[list[WorkShare]]:
    """The shares, distributed over at most a few tasks per slot."""
    tasks = min(len(shares), TASKS_PER_SLOT * slots)
    return [shares[at::tasks] for at in range(tasks)]
