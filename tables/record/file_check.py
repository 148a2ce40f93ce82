"""What storage was found to hold of a table's live files, as its entry keeps it until a later look says otherwise.

`{version, at, files, asked, missing, other_size, named: [{path, logged, stored}]}`: of `files` live files (None: a job looked at those that
it was to read) `asked` were looked at; `missing` have no regular file, `other_size` another size than the log says, NAMED at most by name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tables.deltalog.read.data_files import Unlike

NAMED = 1_000

Check = dict[str, Any]


def of_look(version: int, at: datetime, files: int | None, asked: int, found: Sequence[Unlike]) -> Check:
    """The record of a whole look."""
    missing = sum(each.stored is None for each in found)
    return {
        "version": version,
        "at": at.isoformat(),
        "files": files,
        "asked": asked,
        "missing": missing,
        "other_size": len(found) - missing,
        "named": [asdict(each) for each in found[:NAMED]],
    }


def with_found(before: Check | None, version: int, at: datetime, asked: int, found: Sequence[Unlike]) -> Check:
    """What was known, with what a look at some of the files found beside it."""
    if not has_findings(before):
        return of_look(version, at, None, asked, found)
    known = {each["path"] for each in before["named"]}  # type: ignore[index]  # has_findings
    more = of_look(version, at, None, asked, [each for each in found if each.path not in known])
    counts = {name: before[name] + more[name] for name in ("missing", "other_size")}  # type: ignore[index]
    return {**more, **counts, "named": [*before["named"], *more["named"]][:NAMED]}  # type: ignore[index]


def has_findings(check: Check | None) -> bool:
    """Whether a file isn't as the log says."""
    return bool(check and (check["missing"] or check["other_size"]))


def without(check: Check, paths: Collection[str]) -> Check:
    """The record without the files of these paths, which the newest version no longer has."""
    left = [each for each in check["named"] if each["path"] not in paths]
    gone = [each for each in check["named"] if each["path"] in paths]
    missing = sum(each["stored"] is None for each in gone)
    counts = {"missing": check["missing"] - missing, "other_size": check["other_size"] - (len(gone) - missing)}
    return {**check, **counts, "named": left}
