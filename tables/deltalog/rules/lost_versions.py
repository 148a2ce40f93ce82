"""Versions that lost files without a word in the log: by a vacuum that isn't logged, or by hand.

Trino's vacuum deletes and commits nothing (trinodb/trino, VacuumProcedure). Spark's commits its start and end on local disks, HDFS, Azure
and Google alone unless `spark.databricks.delta.vacuum.logging.enabled` says otherwise: not on S3 (delta-spark 4.4.0,
`VacuumCommandImpl.shouldLogVacuum`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

MOST = 20  # observations that are kept, the newest ones


@dataclass(frozen=True, slots=True)
class Lost:
    """Versions `first` to `last` need a file that storage was found not to hold; those from `begin` on may have lost some as well.

    A vacuum takes all files that were removed before a moment: what took those of a version took those of earlier ones.
    """

    begin: int
    first: int
    last: int
    path: str
    files: int
    at: datetime

    def takes(self, version: int) -> bool:
        """Whether the version needs a file that isn't there."""
        return self.first <= version <= self.last

    def may_take(self, version: int) -> bool:
        """Whether it may have lost files too."""
        return self.begin <= version < self.first

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "at": self.at.isoformat()}


def of_json(stored: Iterable[dict[str, Any]]) -> list[Lost]:
    """The observations that `as_json` made."""
    return [Lost(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in stored]


def with_missing(known: Iterable[Lost], found: Lost) -> list[Lost]:
    """With one more observation, which takes the place of those of the same versions."""
    others = [each for each in known if not (found.first <= each.first and each.last <= found.last)]
    return sorted([*others, found], key=lambda each: each.at)[-MOST:]


def with_whole(known: Iterable[Lost], version: int) -> list[Lost]:
    """After a look that found every file of a version: it isn't lost, and no vacuum took the files of earlier ones."""
    left = [each for each in known if not each.takes(version)]
    return [
        Lost(version + 1, each.first, each.last, each.path, each.files, each.at) if each.may_take(version) else each
        for each in left
    ]
