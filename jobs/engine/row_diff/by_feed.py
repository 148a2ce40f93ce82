"""Rows that changed between two versions by the table's change feed, where it was kept in each version between and can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.domain.read_limits import excess
from jobs.engine.commits.history import commit_names
from jobs.engine.directory import Directory
from jobs.engine.inside import refuse_outside_commits
from jobs.engine.named_files import json_lines
from jobs.engine.quoting import quoted
from jobs.engine.row_diff.columns import Pairing, Reading
from jobs.engine.table_v2 import loaded_table
from jobs.engine.versions import rows_of
from jobs.engine.walk import DELTA_LOG

ENABLED = "delta.enableChangeDataFeed"
CHANGE_TYPE = "_change_type"
FILE = "path STRING, size BIGINT, dataChange BOOLEAN"
CONFIGURATION = "configuration MAP<STRING, STRING>"
ACTIONS = (
    f"add STRUCT<{FILE}>, remove STRUCT<{FILE}>, cdc STRUCT<path STRING, size BIGINT>, metaData STRUCT<{CONFIGURATION}>"
)
NO_FEED = "the table didn't keep one in each of these versions"
NO_COMMITS = "the log no longer has the commit of each of these versions"
OTHER_TYPES = "the table's columns have changed in a way that the change feed can't be read with"


@dataclass(frozen=True, slots=True)
class Feed:
    """What the commits between hold of the feed: its files, and their bytes where the log has their sizes."""

    files: int
    bytes: int


def feed_between(session: SparkSession, before: Any, path: str, first: int, last: int) -> Feed | str:
    """What there is to read of the feed from commit `first` to `last`; else, in words, why it can't be read. `before` is the version
    before these commits."""
    names = commit_names(path, first, last)
    if len(names) != last - first + 1:
        return NO_COMMITS
    place = f"{before.deltaLog().dataPath().toString()}/{DELTA_LOG}"
    commits = json_lines(session, [f"{place}/{name}" for name in names], ACTIONS).withColumn(
        "file", F.col("_metadata.file_name")
    )
    if not _is_enabled(before, commits, names[0]):
        return NO_FEED
    files = _files(commits)
    return excess("in it", files.files, files.bytes, None) or files


def _is_enabled(before: Any, commits: DataFrame, first: str) -> bool:
    """Whether the feed was on from the first commit on: as the version before had it, or as that commit set it, and never off later."""
    told = commits.where(F.col("metaData").isNotNull()).select(
        "file", F.col("metaData.configuration").alias("configuration")
    )
    settings = {row["file"]: _is_on(row["configuration"] or {}) for row in told.collect()}
    configuration = before.initialSnapshot().metadata().configuration()
    option = configuration.get(ENABLED)
    begun = _is_on({ENABLED: option.get()} if option.isDefined() else {})
    return settings.get(first, begun) and all(settings.values())


def _is_on(configuration: Mapping[str, str]) -> bool:
    return configuration.get(ENABLED, "").lower() == "true"


def _files(commits: DataFrame) -> Feed:
    """The files that Delta reads: a commit's own of the feed if it has some, else those that it added and removed with their rows."""
    moved = F.coalesce(
        *(F.when(F.col(f"{name}.dataChange"), F.coalesce(f"{name}.size", F.lit(0))) for name in ("add", "remove"))
    )
    own = F.when(F.col("cdc.path").isNotNull(), F.coalesce("cdc.size", F.lit(0)))
    sums = [function(value).alias(name) for name, function, value in (
        ("own", F.count, own), ("own_bytes", F.sum, own), ("moved", F.count, moved), ("moved_bytes", F.sum, moved),
    )]  # fmt: skip
    each = commits.groupBy("file").agg(*sums).collect()
    files = sum(row["own"] or row["moved"] for row in each)
    return Feed(files, sum((row["own_bytes"] if row["own"] else row["moved_bytes"]) or 0 for row in each))


def rows_changed(
    session: SparkSession, directory: Directory, first: int, last: int, columns: Pairing, after: Any
) -> DataFrame | str:
    """The changes of these commits, with the newer version's columns and CHANGE_TYPE; else, in words, why they can't be read.

    Raises CommandRefused `outside_roots`.
    """
    if columns.reading is Reading.COMMON:
        return OTHER_TYPES
    feed = {"path": directory.path, "read_change_feed": True, "starting_version": first, "ending_version": last}
    table = loaded_table(session, feed)
    refuse_outside_commits(session, after, directory.path, first, last)
    directory.check()
    changes = DataFrame(table.toDf(session._jsparkSession), session)
    wanted, held = rows_of(session, after).dtypes, dict(changes.dtypes)
    if any(held.get(name) != kind for name, kind in wanted):
        return OTHER_TYPES  # since, perhaps: it is read with the newest version's columns
    return changes.select(*[F.col(quoted(name)) for name, _ in wanted], CHANGE_TYPE)
