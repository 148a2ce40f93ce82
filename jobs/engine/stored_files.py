"""The files that a table version needs in storage, and which of them are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from jobs.engine.inside import clone_at
from jobs.engine.measuring import local
from tables.deltalog.read.vector_files import vector_file
from tables.storage import stores

INLINE, ABSOLUTE = "i", "p"


def missing_files(session: SparkSession, path: str, then: Any, now: Any) -> list[str]:
    """Files that Delta's object `then` needs, `now` doesn't, and storage no longer has: absolute decoded paths, in order."""
    needed = stored_files(session, path, then) - stored_files(session, path, now)
    clone = clone_at(path)
    if clone is None:
        return stores.tree_at(path).missing(sorted(needed))
    # A rehearsal's clone names the files of its source, as Spark writes that place.
    named = local(clone.uri).rstrip("/") + "/"
    own = sorted(file for file in needed if not file.startswith(named))
    others = sorted(f"{clone.source}/{file.removeprefix(named)}" for file in needed if file.startswith(named))
    return stores.tree_at(path).missing(own) + stores.tree_at(clone.source).missing(others)


def stored_files(session: SparkSession, path: str, table: Any) -> set[str]:
    """The data files and deletion vector files of Delta's table object."""
    files = DataFrame(table.initialSnapshot().allFiles().toDF(), session)
    rows = files.select("path", "deletionVector.storageType", "deletionVector.pathOrInlineDv").collect()
    return {file for row in rows for file in _files(path.rstrip("/"), row)}


def _files(path: str, row: Row) -> Iterable[str]:
    yield _absolute(path, local(row["path"]))
    kind, stored = row["storageType"], row["pathOrInlineDv"]
    if kind == ABSOLUTE:
        yield _absolute(path, local(stored))
    elif kind is not None and kind != INLINE:
        yield f"{path}/{vector_file(stored)}"


def _absolute(path: str, file: str) -> str:
    return file if file.startswith("/") or "://" in file else f"{path}/{file}"
