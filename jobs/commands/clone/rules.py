"""A clone as a value, and its consequences.

Rules: Delta 4.4.0, CloneTableBase and CloneTableCommand. Delta itself clones shallow only; a deep clone makes the same commit, but
names copies of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal

from jobs.domain.consequences import Consequence, in_words, said
from jobs.domain.delta.feature_support import Cells, Refused
from jobs.domain.delta.protocols import FEATURES

Depth = Literal["shallow", "deep"]
DEPTHS: tuple[Depth, ...] = ("shallow", "deep")
ROW_TRACKING = "rowTracking"


REFUSED: Cells = {
    ROW_TRACKING: (
        Refused(
            "DELTA_CLONE_WITH_ROW_TRACKING_WITHOUT_STATS", "while the log doesn’t say how many rows some file holds"
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Clone:
    """A new Delta table in an empty or new directory, with the rows that a table has at one of its versions.

    `depth` "shallow": its log names the source's own files; "deep": it names copies of them. `table` is the source's id in the
    catalog, `target` the directory as it was typed. Levee fills in `version` (None: the newest at the request), the canonical
    locations `source` and `path` (the target's), and `source_name`.
    """

    kind: ClassVar[str] = "clone"
    schema_version: ClassVar[int] = 1

    table: str
    target: str
    depth: Depth
    version: int | None = None
    source: str = ""
    path: str = ""
    source_name: str = ""


def is_at_or_below(path: str, top: str) -> bool:
    """Whether a canonical location is another one or lies in it."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")


def consequences_of(
    *,
    depth: Depth,
    source: str,
    features: Iterable[str],
    is_newest: bool,
    retention: timedelta,
    until: datetime | None = None,
) -> list[Consequence]:
    """What follows from the clone beyond its numbers.

    `source` is the source's name, `features` those of its protocol, `retention` how long it keeps files that it no longer needs,
    `until` when an older version's time ends by that (None: unknown).
    """
    shallow = depth == "shallow"
    unknown = sorted(set(features) - FEATURES.keys())
    return [
        *(_shallow(source, retention) if shallow else _deep(source)),
        said(
            "own_history",
            "The clone is a table of its own: its history begins at version 0, with a new id. Schema, partitioning, properties,"
            " CHECK constraints and protocol are the source’s; name, description, streams’ transactions and tags of the catalog"
            " don’t come along.",
        ),
        *(_loses(source, unknown) if unknown else ()),
        *(_new_row_ids() if ROW_TRACKING in set(features) else ()),
        *(() if is_newest else _older(source, until)),
    ]


def _shallow(source: str, retention: timedelta) -> list[Consequence]:
    return [
        said(
            "depends_on_source",
            f"The clone names files of {source} and has none of its own. A file that {source} no longer needs is kept for"
            f" {in_words(retention)}; once VACUUM or anything else removes it, the clone can’t be read any more. Levee’s vacuum of"
            f" {source} names the clones that it knows before it runs.",
        ),
        said(
            "read_elsewhere",
            "Levee shows the clone’s log, but neither reads nor changes rows of a table whose files lie outside its directory;"
            " Spark and other engines do.",
        ),
    ]


def _deep(source: str) -> list[Consequence]:
    text = (
        f"The copies take as much space again, and don’t depend on {source}: nothing that happens there changes them."
    )
    return [said("independent", text)]


def _loses(source: str, unknown: Sequence[str]) -> list[Consequence]:
    """Delta 4.4 gives a clone those features of its source that it knows itself (`Protocol.merge`)."""
    one = len(unknown) == 1
    text = (
        f"The clone doesn’t get {'the feature' if one else 'the features'} {', '.join(unknown)}, which Delta 4.4 doesn’t know: Spark"
        f" can write the clone without heeding what {'it stands' if one else 'they stand'} for, as it can’t write {source}."
    )
    return [said("loses_features", text)]


def _new_row_ids() -> list[Consequence]:
    return [said("new_row_ids", "Delta gives every row of a clone a new row id and a new commit version.")]


def _older(source: str, until: datetime | None) -> list[Consequence]:
    when = f" which its own retention allows from {until.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if until else ""
    text = f"{source} keeps the files of an older version only until VACUUM removes them there{when and ',' + when}."
    return [said("older_version", text)]
