"""A table whose log leads out of its directory is not read: absolute paths, `..`, links, a redirect, foreign deletion vectors."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.errors import CommandRefused, Refusal

# The paths of the log are URIs: `%2E` is a dot. A scheme, or a slash in front, makes one absolute.
CLIMBS = r"(^|/)\.\.(/|$)"
ABSOLUTE = r"^(/|[A-Za-z][A-Za-z0-9+.-]*:)"
# A deletion vector in the table's directory is named by 20 characters, after a random prefix that names a directory.
VECTOR_ID = 20
VECTOR_PREFIX = r"^[A-Za-z0-9]*$"
VECTOR = "deletionVector STRUCT<storageType STRING, pathOrInlineDv STRING>"
ACTIONS = f"add STRUCT<path STRING, {VECTOR}>, remove STRUCT<path STRING, {VECTOR}>, cdc STRUCT<path STRING>"


def refuse_outside(session: SparkSession, table: Any, path: str) -> None:
    """Looks at the files of the table's version and at the directory. `table` is Delta's object, `path` where it must lie.

    Raises CommandRefused `outside_roots`, which names the first thing found.
    """
    data_path = table.deltaLog().dataPath()
    refuse_redirect(data_path, path)
    files = DataFrame(table.initialSnapshot().allFiles().toDF(), session)
    _refuse_any(files.select("path", "deletionVector"), data_path.toString())
    refuse_links(path)


def refuse_outside_commits(session: SparkSession, table: Any, first: int, last: int) -> None:
    """The same for all files that the commits `first` to `last` name: a change feed reads removed files too."""
    data_path = table.deltaLog().dataPath().toString()
    log = session.read.schema(ACTIONS).option("pathGlobFilter", "*.json").json(f"{data_path}/_delta_log")
    name = F.col("_metadata.file_name")
    commits = log.where((name >= f"{first:020d}.json") & (name <= f"{last:020d}.json"))
    none = F.lit(None).cast("STRUCT<storageType STRING, pathOrInlineDv STRING>")
    for action in ("add", "remove", "cdc"):
        vector = none if action == "cdc" else F.col(f"{action}.deletionVector")
        named = commits.select(F.col(f"{action}.path").alias("path"), vector.alias("deletionVector"))
        _refuse_any(named.where(F.col("path").isNotNull()), data_path)


def _refuse_any(files: DataFrame, data_path: str) -> None:
    kind, stored = F.col("deletionVector.storageType"), F.col("deletionVector.pathOrInlineDv")
    prefix = stored.substr(F.lit(1), F.length(stored) - VECTOR_ID)
    foreign = ((kind == "p") & _leads_out(stored, data_path)) | ((kind == "u") & ~prefix.rlike(VECTOR_PREFIX))
    found = files.where(_leads_out(F.col("path"), data_path) | F.coalesce(foreign, F.lit(False))).limit(1).collect()
    if found:
        raise CommandRefused(_refusal(f"The table's log names a file outside its directory: {found[0]['path'][:500]}"))


def _leads_out(path: Column, data_path: str) -> Column:
    decoded = F.regexp_replace(F.regexp_replace(path, "%2[eE]", "."), "%2[fF]", "/")
    plain = data_path.removeprefix("file:")
    own = F.lit(False)
    for start in {data_path, plain, f"file://{plain}"}:
        own = own | path.startswith(start.rstrip("/") + "/")
    return decoded.rlike(CLIMBS) | (decoded.rlike(ABSOLUTE) & ~own)


def refuse_redirect(data_path: Any, path: str) -> None:
    """Delta follows a table's redirect before anybody asks; then its object lies elsewhere."""
    found = data_path.toUri().getPath() if path.startswith("/") else data_path.toString()
    if found.rstrip("/") != path.rstrip("/"):
        raise CommandRefused(_refusal(f"The table leads to another place: {found}"))


def refuse_linked_log(path: str) -> None:
    """Raises CommandRefused `outside_roots` where a local table's directory, its log or a file of the log is a link."""
    if not path.startswith("/"):
        return
    log = os.path.join(path, "_delta_log")  # noqa: PTH118 - as the catalog writes it
    for place in (path, log):
        if os.path.islink(place):  # noqa: PTH114
            raise CommandRefused(_refusal(f"Links below a root are not followed: {place}"))
    if os.path.isdir(log):  # noqa: PTH112
        refuse_links(log)


def refuse_links(path: str) -> None:
    """Raises CommandRefused `outside_roots` for a link anywhere below a local directory; other storage has none."""
    waiting = [path] if path.startswith("/") else []
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise CommandRefused(_refusal(f"Links below a root are not followed: {entry.path}"))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _refusal(text: str) -> Refusal:
    return Refusal("outside_roots", text, remedy="Copy the files into the table, or have it written anew.")
