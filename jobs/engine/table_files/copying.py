"""Copies files byte for byte from one directory to another, in Spark's tasks: on disks, in object stores, and between the two.

A task's code runs in Python workers that are only certain to have the standard library and obstore: this module and what storage has
for tasks travel to them by value. On a disk no link is followed or made; within one bucket the
store copies by itself.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from tables.storage import stores
from tables.storage.trees import Reach

TASKS_PER_SLOT = 4


class CopyOrder(NamedTuple):
    """From where to where: canonical directories or prefixes, and how they are reached."""

    source: str
    target: str
    source_reach: Reach
    target_reach: Reach


class Copied(NamedTuple):
    """What tasks have copied, or the first fault that one met: `missing` tells a file that isn't there from every other fault."""

    files: int = 0
    bytes: int = 0
    fault: str = ""
    missing: bool = False


class SizeDiffers(OSError):
    """A file isn't as long as the log says."""


def order_of(source: str, target: str) -> CopyOrder:
    """How tasks reach both places. Raises Unreachable, ValueError for storage that files aren't copied on."""
    for place in (source, target):
        if not stores.kind_of(place).copies:
            raise ValueError(f"files aren't copied {stores.kind_of(place).where}")
    return CopyOrder(source, target, stores.reach_of(source), stores.reach_of(target))


def copy_files(files: DataFrame, order: CopyOrder) -> Copied:
    """Copies each row's file: `source` and `target` are decoded paths below the two directories, `size` in bytes (null: any).

    A file that is there already, of an earlier try of the same task, is replaced. Returns the first fault that a task met; the
    others end with theirs.
    """
    slots = max(1, files.sparkSession.sparkContext.defaultParallelism)
    tasks = files.select("source", "target", "size").repartition(TASKS_PER_SLOT * slots).rdd
    done = tasks.mapPartitions(partial(_copied, order=order)).collect()
    faults = [each for each in done if each.fault]
    return faults[0] if faults else Copied(sum(each.files for each in done), sum(each.bytes for each in done))


def _copied(rows: Iterable[Any], order: CopyOrder) -> Iterator[Copied]:
    """One task: copies the files of its rows, and returns how many."""
    files = size = 0
    copier: _Copier | None = None
    for row in rows:
        copier = copier or _Copier(order)
        try:
            size += copier.copy(row[0], row[1], row[2])
        except OSError as error:
            yield Copied(fault=f"{row[0]}: {error.strerror or error}", missing=isinstance(error, FileNotFoundError))
            return
        files += 1
    yield Copied(files, size)


class _Copier:
    """Copies files between the two places, each opened once."""

    def __init__(self, order: CopyOrder) -> None:
        self.source = order.source_reach.copies(order.source)
        self.target = order.target_reach.copies(order.target)

    def copy(self, source: str, target: str, size: int | None) -> int:
        """The bytes of the copy. Raises FileNotFoundError, SizeDiffers, other OSError."""
        copied = self.target.take(self.source, source, target)
        if copied is None:
            known = self.source.size(source)
            self.target.write(target, self.source.blocks(source))
            copied = self.target.size(target)
            size = known if size is None else size
        if size is not None and copied != size:
            raise SizeDiffers(errno.EIO, f"{copied:,} bytes were read, and the log says {size:,}")
        return copied


@dataclass(frozen=True, slots=True)
class CopyRoom:
    """The bytes that a disk has left for Levee, and those that a copy takes."""

    free: int
    needed: int

    @property
    def is_enough(self) -> bool:
        return self.needed <= self.free


def room_for(target: str, size: int) -> CopyRoom | None:
    """What the disk of a local directory has left; None for an object store, which doesn't tell. Raises OSError."""
    if stores.is_remote(target):
        return None
    stat = os.statvfs(target)
    return CopyRoom(stat.f_bavail * stat.f_frsize, size)


# Executors need no copy of Levee: the code that runs there travels with the task.
for _module in (*stores.TRAVELLING, sys.modules[__name__]):
    cloudpickle.register_pickle_by_value(_module)
