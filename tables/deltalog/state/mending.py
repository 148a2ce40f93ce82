"""Broken entries of a log, remembered as they were, so that a later pass notices a repair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tables.deltalog.read.filenames import LAST_CHECKPOINT, LOG, commit_name, commit_version, parse
from tables.deltalog.read.problems import LogProblem, ProblemCode
from tables.deltalog.state.listing import Listing
from tables.storage.store import Entry, Storage

Broken = dict[str, Entry | None]
"""Files below `_delta_log` that problems name, as they lay there when they were read; None for one that was missing."""

_NAMED = 20
_MENDABLE = (
    ProblemCode.CORRUPT,
    ProblemCode.ODD,
    ProblemCode.DISAGREES,
    ProblemCode.EMPTY,
    ProblemCode.MISSING,
    ProblemCode.UNREADABLE,
    ProblemCode.STOPS_SPARK,
)


def lasting(problems: Iterable[LogProblem], listing: Listing) -> list[LogProblem]:
    """The problems of an older version that a newer one still has, in their order; `listing` is of what came since.

    Gone are those about one version alone (its checksum) and those about the log as a whole, which each pass finds anew, as it does
    where `_last_checkpoint` points. Gone is what stops Spark in a checkpoint, or in a commit, that has a newer one: Spark reads the newest.
    """
    return [
        problem
        for problem in problems
        if problem.unlisted or (problem.file and not _of_one_version(problem) and not _is_outdated(problem, listing))
    ]


def _is_outdated(problem: LogProblem, listing: Listing) -> bool:
    if problem.code is not ProblemCode.STOPS_SPARK or not listing.checkpoints:
        return False
    name, newest = parse(problem.file), listing.checkpoints[-1].version
    return name is not None and (
        name.version < newest or (name.version == newest and commit_version(problem.file) is not None)
    )


def _of_one_version(problem: LogProblem) -> bool:
    return problem.code is ProblemCode.DISAGREES or problem.file.endswith(".crc") or problem.file == LAST_CHECKPOINT


def remember(storage: Storage, listing: Listing, before: Broken, problems: Iterable[LogProblem]) -> Broken:
    """What to remember: commits as the listing has them, what an older pass remembered as that had it, all else as it lies there."""
    broken: Broken = {}
    for problem in problems:
        name = problem.file
        if not name or problem.code not in _MENDABLE:
            continue
        version = commit_version(name)
        if version is not None and version in listing.commits:
            broken[name] = listing.commits[version]
        elif version is not None and name not in before and problem.code is ProblemCode.MISSING:
            broken |= dict.fromkeys(_missing_from(version, listing))
        else:
            broken[name] = before[name] if name in before else _look(storage, name)
    if any(entry is None for entry in broken.values()):
        broken |= {name: None for name, entry in before.items() if entry is None}
    return broken


def _missing_from(version: int, listing: Listing) -> list[str]:
    """Names of a run of missing commits: its first ones, and the last."""
    end = next((later for later in listing.commits if later > version), (listing.head or version) + 1)
    return [commit_name(number) for number in (*range(version, min(end, version + _NAMED)), end - 1)]


def mended(storage: Storage, broken: Mapping[str, Entry | None]) -> list[str]:
    """The remembered files that have changed, appeared or gone since."""
    return [name for name, entry in broken.items() if _look(storage, name) != entry]


def _look(storage: Storage, name: str) -> Entry | None:
    return storage.entry(f"{LOG}/{name}")
