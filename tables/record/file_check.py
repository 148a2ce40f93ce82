"""What storage was found to hold of a table's live files, as its entry keeps it until a later look says otherwise.

`{version, at, files, asked, missing, missing_vectors, other_size, named: [{path, logged, stored, vector}]}`: of `files` live files `asked`
were looked at (`files` None: by a job, those that it was to read); `missing` are data files and `missing_vectors` files of deletion
vectors that have no regular file, `other_size` have another size than the log says, NAMED at most by name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tables.deltalog.read.data_files import Unlike

NAMED = 1_000
COUNTED = ("missing", "missing_vectors", "other_size")

Check = dict[str, Any]


def of_look(version: int, at: datetime, files: int | None, asked: int, found: Sequence[Unlike]) -> Check:
    """The record of a whole look."""
    missing = [each for each in found if each.stored is None]
    vectors = sum(each.vector for each in missing)
    return {
        "version": version,
        "at": at.isoformat(),
        "files": files,
        "asked": asked,
        "missing": len(missing) - vectors,
        "missing_vectors": vectors,
        "other_size": len(found) - len(missing),
        "named": [asdict(each) for each in found[:NAMED]],
    }


def with_found(before: Check | None, version: int, at: datetime, asked: int, found: Sequence[Unlike]) -> Check:
    """What was known, with what a look at some of the files found beside it."""
    if not has_findings(before):
        return of_look(version, at, None, asked, found)
    known = {each["path"] for each in before["named"]}  # type: ignore[index]  # has_findings
    more = of_look(version, at, None, asked, [each for each in found if each.path not in known])
    counts = {name: _count(before, name) + more[name] for name in COUNTED}  # type: ignore[arg-type]
    return {**more, **counts, "named": [*before["named"], *more["named"]][:NAMED]}  # type: ignore[index]


def has_findings(check: Check | None) -> bool:
    """Whether a file isn't as the log says."""
    return check is not None and any(_count(check, name) for name in COUNTED)


def _count(check: Check, name: str) -> int:
    """A record that an earlier Levee made counts missing vectors among the missing files."""
    return int(check.get(name, 0))


def without(check: Check, paths: Collection[str]) -> Check:
    """The record without the files of these paths, which the newest version no longer has."""
    left = [each for each in check["named"] if each["path"] not in paths]
    gone = [each for each in check["named"] if each["path"] in paths]
    counts = {name: _count(check, name) for name in COUNTED}
    for each in gone:
        counts[_kind(each)] -= 1
    return {**check, **counts, "named": left}


def _kind(named: Mapping[str, Any]) -> str:
    if named["stored"] is not None:
        return "other_size"
    return "missing_vectors" if named.get("vector") else "missing"
