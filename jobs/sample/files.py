"""The files of the sample lake that Levee wrote: with the lake, and by its jobs since. All others belong to somebody else.

A file of the lake is known again by its size and time, one of a job by the commit that names it. Nothing is followed out of the lake.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from jobs.models import Job
from jobs.sample.place import home
from tables.deltalog.read.actions import AddCDCFile, AddFile
from tables.deltalog.read.filenames import LAST_CHECKPOINT, LOG
from tables.deltalog.read.vector_files import vector_file
from tables.deltalog.replay.log import open_log
from tables.models import Commit, Explanation, Root, Table
from tables.rules import sample_lake
from tables.storage.store import StorageError

VERSION_DIGITS = 20
Present = Mapping[Path, os.stat_result]


@dataclass(frozen=True, slots=True)
class LakeFiles:
    """The files in a lake: `own` are Levee's, `others` how many are not; sizes in bytes. `made` are its tables' directories."""

    lake: Path
    own: frozenset[Path]
    made: frozenset[Path]
    size_bytes: int
    others: int


def look(root: Root) -> LakeFiles:
    """The files as they are now. Reads the commits of Levee's jobs in the lake's logs."""
    lake = Path(root.uri)
    present = dict(_files_below(lake))
    own = {path for path, state in _unchanged(lake) if path in present and _same(present[path], state)}
    tables = list(Table.objects.filter(root=root))
    for table in tables:
        own |= set(_written_by_jobs(table, present)) & present.keys()
    own |= {beside for path in own if (beside := path.with_name(f".{path.name}.crc")) in present}
    own |= {path for path in present if path.name == LAST_CHECKPOINT and _log_goes(path.parent, present, own)}
    size = sum(present[path].st_size for path in own)
    made = frozenset(Path(table.path) for table in tables)
    return LakeFiles(lake, frozenset(own), made, size, len(present) - len(own))


def delete(found: LakeFiles) -> tuple[int, int]:
    """Deletes Levee's own files and the directories that this empties. Returns how many files went, and how many stayed.

    A file that can't be deleted stays; the record of what was written goes with the last one.
    """
    gone = 0
    for path in found.own:
        with suppress(OSError):
            path.unlink()
            gone += 1
    above = {each for path in found.own for each in path.parents if found.lake in (each, *each.parents)} | found.made
    for directory in sorted(above | {found.lake}, key=lambda each: len(each.parts), reverse=True):
        with suppress(OSError):  # not empty: what is in there isn't Levee's
            directory.rmdir()
    if gone == len(found.own):
        (home() / sample_lake.WRITTEN).unlink(missing_ok=True)
    return gone, found.others + len(found.own) - gone


def _files_below(lake: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Regular files; links are neither followed nor taken."""
    for folder, _, names in os.walk(lake, followlinks=False):
        for name in names:
            path = Path(folder, name)
            with suppress(FileNotFoundError):
                state = path.lstat()
                if stat.S_ISREG(state.st_mode):
                    yield path, state


def _unchanged(lake: Path) -> Iterator[tuple[Path, sample_lake.WrittenFile]]:
    return ((lake / file.path, file) for file in sample_lake.written(home()))


def _same(now: os.stat_result, then: sample_lake.WrittenFile) -> bool:
    return (now.st_size, now.st_mtime_ns) == (then.size, then.modified_ns)


def _written_by_jobs(table: Table, present: Present) -> Iterator[Path]:
    """What Levee's jobs wrote into a table: the files that their commits made, and these commits' own files in the log."""
    directory = Path(table.path)
    forged = Explanation.objects.filter(table=table, verdict=Explanation.Verdict.FORGED).values("version")
    commits = Commit.objects.filter(table=table, incarnation=table.incarnation).exclude(version__in=forged)
    began = dict(Job.objects.filter(table=table).exclude(version=None).values_list("pk", "claimed_at"))
    versions = dict(commits.filter(job__in=began).values_list("version", "job"))
    for version, job in versions.items():
        if job and (since := began[job]):
            yield from _made_by(directory, version, since.timestamp(), present)
    for path in directory.joinpath(LOG).glob("[0-9]*"):
        if _version(path) in versions:
            yield path


def _made_by(directory: Path, version: int, since: float, present: Present) -> Iterator[Path]:
    """The files that a commit made. One that is older than its job was there before: a conversion names such, and a restore."""
    try:
        for action in open_log(str(directory)).actions(version):
            if isinstance(action, AddFile) and action.deletion_vector and action.deletion_vector.storage == "u":
                vector = directory / vector_file(action.deletion_vector.path_or_inline)
                if (state := present.get(vector)) and state.st_mtime >= since:
                    yield vector
            if isinstance(action, AddFile | AddCDCFile):
                path = directory / unquote(action.path)
                state = present.get(path)
                if state and state.st_size == action.size and state.st_mtime >= since:
                    yield path
    except (StorageError, FileNotFoundError, ValueError):  # what can't be read isn't deleted
        return


def _version(path: Path) -> int:
    digits = path.name[:VERSION_DIGITS]
    return int(digits) if digits.isdigit() else -1


def _log_goes(log: Path, present: Present, own: set[Path]) -> bool:
    """Whether every commit and checkpoint of a log is Levee's own: then what points at them is so as well."""
    if log.name != LOG:
        return False
    return all(path in own for path in present if path.parent == log and _version(path) >= 0)
