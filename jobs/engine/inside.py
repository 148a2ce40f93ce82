"""Refuses tables whose log leads out of their directory: absolute paths, `..`, links, a redirect, foreign deletion vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused, Refusal
from jobs.engine.commits.history import commit_names
from jobs.engine.named_files import json_lines
from jobs.engine.walk import DELTA_LOG

# Paths in the log are URIs: `%2E` is a dot. A scheme or a leading slash makes one absolute.
CLIMBS = r"(^|/)\.\.(/|$)"
ABSOLUTE = r"^(/|[A-Za-z][A-Za-z0-9+.-]*:)"
# The log names a deletion vector in the table's directory by a random prefix, its directory, and 20 characters.
VECTOR_ID = 20
VECTOR_PREFIX = r"^[A-Za-z0-9]*$"
VECTOR = "deletionVector STRUCT<storageType STRING, pathOrInlineDv STRING>"
ACTIONS = f"add STRUCT<path STRING, {VECTOR}>, remove STRUCT<path STRING, {VECTOR}>, cdc STRUCT<path STRING>"


@dataclass(frozen=True, slots=True)
class OwnClone:
    """A shallow clone of Levee's own at `path`, whose log names files of the table at `source`.

    `uri` is the source's URI, encoded, as the clone's log begins those names. `check` is the source directory's own: whoever checks the
    clone's directory checks that one too.
    """

    path: str
    source: str
    uri: str
    check: Callable[[], None]


_CLONE: ContextVar[OwnClone | None] = ContextVar("own_clone", default=None)


@contextmanager
def allowing(clone: OwnClone) -> Iterator[None]:
    """Within it, in this thread, the log of that one clone may name files of its source; of nothing else, and no other log may."""
    token = _CLONE.set(clone)
    try:
        yield
    finally:
        _CLONE.reset(token)


def clone_at(path: str) -> OwnClone | None:
    """The clone at this very path, while it is allowed."""
    clone = _CLONE.get()
    return clone if clone is not None and clone.path == path.rstrip("/") else None


def refuse_outside(session: SparkSession, table: Any, path: str) -> None:
    """Checks the files that the table's version lists. `table` is Delta's table object, `path` the directory that it must be in.

    Raises CommandRefused `outside_roots`, which names the first violation.
    """
    data_path = table.deltaLog().dataPath()
    refuse_redirect(data_path, path)
    files = DataFrame(table.initialSnapshot().allFiles().toDF(), session)
    clone = clone_at(path)
    _refuse_any(files.select("path", "deletionVector"), data_path.toString(), clone.uri if clone else None)


def refuse_outside_commits(session: SparkSession, table: Any, path: str, first: int, last: int) -> None:
    """The same check for all files in the commits `first` to `last`: a change feed also reads removed files."""
    data_path = table.deltaLog().dataPath().toString()
    files = [f"{data_path}/{DELTA_LOG}/{name}" for name in commit_names(path, first, last)]
    commits = json_lines(session, files, ACTIONS)
    none = F.lit(None).cast("STRUCT<storageType STRING, pathOrInlineDv STRING>")
    for action in ("add", "remove", "cdc"):
        vector = none if action == "cdc" else F.col(f"{action}.deletionVector")
        named = commits.select(F.col(f"{action}.path").alias("path"), vector.alias("deletionVector"))
        _refuse_any(named.where(F.col("path").isNotNull()), data_path)


def _refuse_any(files: DataFrame, data_path: str, source: str | None = None) -> None:
    """`source` is a further directory whose files may be named."""
    kind, stored = F.col("deletionVector.storageType"), F.col("deletionVector.pathOrInlineDv")
    own = [data_path] if source is None else [data_path, source]
    prefix = stored.substr(F.lit(1), F.length(stored) - VECTOR_ID)
    foreign = ((kind == "p") & _leads_out(stored, own)) | ((kind == "u") & ~prefix.rlike(VECTOR_PREFIX))
    rows = files.where(_leads_out(F.col("path"), own) | F.coalesce(foreign, F.lit(False))).limit(1).collect()
    if rows:
        raise CommandRefused(_refusal(f"The table's log names a file outside its directory: {rows[0]['path'][:500]}"))


def _leads_out(path: Column, places: Sequence[str]) -> Column:
    """Whether a path climbs, or is absolute and not below one of these directories."""
    decoded = F.regexp_replace(F.regexp_replace(path, "%2[eE]", "."), "%2[fF]", "/")
    own = F.lit(False)
    for place in places:
        plain = place.removeprefix("file:")
        for start in {place, plain, f"file://{plain}"}:
            own = own | path.startswith(start.rstrip("/") + "/")
    return decoded.rlike(CLIMBS) | (decoded.rlike(ABSOLUTE) & ~own)


def refuse_redirect(data_path: Any, path: str) -> None:
    """Refuses a redirected table: Delta follows a redirect on its own, and its table object then points elsewhere."""
    location = data_path.toUri().getPath() if path.startswith("/") else data_path.toString()
    if location.rstrip("/") != path.rstrip("/"):
        raise CommandRefused(_refusal(f"The table redirects to another location: {location}"))


def _refusal(text: str) -> Refusal:
    return Refusal("outside_roots", text, remedy="Copy the files into the table's directory, or rewrite the table.")
