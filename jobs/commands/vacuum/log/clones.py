"""Which files of a table shallow clones need that it no longer needs itself: a vacuum deletes those once they are old."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from console.base.text.counted import counted
from jobs.commands.vacuum.log.readers import MOST_NAMED
from jobs.targets.subject import Subject
from tables.deltalog.vacuum.state import files_below, live_files
from tables.history.shallow_clones import ShallowClone, clones_of
from tables.record.live_files import live_files as stored_files

MOST_FILES = 200_000  # of the clones, and of the table, that are compared
NEEDS = "The shallow clone {name} needs {files} that this table no longer does: it can’t be read any more once a vacuum deletes {them}."
MAY_NEED = (
    "The shallow clone {name} needs {files} of {whose}, perhaps some that this table no longer does: it can’t be read any more if the"
    " vacuum deletes one of those."
)


@dataclass(frozen=True, slots=True)
class CloneNeed:
    """A shallow clone and how many files it needs that only it does; None where that isn't known."""

    clone: ShallowClone
    files: int | None


def needs_of_clones(subject: Subject) -> list[CloneNeed]:
    """The clones known to the catalog that need files which the table's newest version doesn't, or may; by name.

    By what the last sync of each has read. A file that only an older version of a clone needs isn't counted.
    """
    clones = clones_of(subject.table)
    if not clones:
        return []
    few = (subject.snapshot.num_files or 0) <= MOST_FILES
    own = live_files(subject.snapshot, subject.table.path)[0] if few else None
    left, needs = MOST_FILES, []
    for clone in clones:
        left -= clone.files
        files = _only_there(subject, clone, own) if own is not None and left >= 0 else None
        if files != 0:
            needs.append(CloneNeed(clone, files))
    return needs


def _only_there(subject: Subject, clone: ShallowClone, own: pa.Array) -> int | None:
    snapshot = stored_files(clone.table)
    if snapshot is None or not snapshot.complete:
        return None
    needed = pc.unique(files_below(snapshot, subject.table.path))  # one file may hold the vectors of many
    return int(pc.sum(pc.invert(pc.is_in(needed, value_set=own))).as_py() or 0)


def said_of_clones(needs: Sequence[CloneNeed]) -> Iterator[str]:
    """A sentence on each for those who approve the vacuum; beyond MOST_NAMED, how many more there are."""
    for need in needs[:MOST_NAMED]:
        yield _said(need)
    if (more := len(needs) - MOST_NAMED) > 0:
        yield f"{more:,} more shallow {'clone needs or may need' if more == 1 else 'clones need or may need'} such files as well."


def _said(need: CloneNeed) -> str:
    name, them = need.clone.table.name, "it" if need.files == 1 else "them"
    if need.files is not None:
        return NEEDS.format(name=name, files=counted(need.files, "file"), them=them)
    whose = "this table’s directory" if need.clone.in_this_one else "other tables’ directories"
    return MAY_NEED.format(name=name, files=counted(need.clone.files, "file"), whose=whose)
