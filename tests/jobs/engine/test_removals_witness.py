"""What the removals of Spark's own commits do to rows, beside the rows that Spark counts before and after each."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tables.deltalog.read.file_sums import Removal
from tables.deltalog.replay.log import open_log
from tests.jobs.engine.test_log_witness import append, path, set_properties, spark, sql

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
__all__ = ["path", "spark"]  # the fixtures

STEPS: dict[str, tuple[str, Removal]] = {
    "DELETE FROM {t} WHERE shop = '1'": ("DELETE", Removal.LOST),
    "DELETE FROM {t} WHERE id = 2": ("DELETE", Removal.LOST),
    "UPDATE {t} SET name = 'x' WHERE id = 4": ("UPDATE", Removal.REPLACED),
    "MERGE INTO {t} t USING (SELECT 4L id, '0' shop) s ON s.id = t.id WHEN MATCHED THEN UPDATE SET name = 'y'": (
        "MERGE",
        Removal.REPLACED,
    ),
    "MERGE INTO {t} t USING (SELECT 900L id, '0' shop) s ON s.id = t.id WHEN NOT MATCHED THEN INSERT (id, shop) VALUES (s.id, s.shop)": (
        "MERGE",
        Removal.NONE,
    ),
    "OPTIMIZE {t}": ("OPTIMIZE", Removal.REARRANGED),
    "DELETE FROM {t} WHERE id = 6": ("DELETE", Removal.LOST),
    "REORG TABLE {t} APPLY (PURGE)": ("REORG", Removal.REARRANGED),
    "RESTORE TABLE {t} TO VERSION AS OF 1": ("RESTORE", Removal.REPLACED),
    "INSERT OVERWRITE {t} SELECT 1L id, '0' shop, 'n' name, 1.0D amount": ("WRITE", Removal.LOST),
    "DELETE FROM {t}": ("DELETE", Removal.LOST),
}


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("reading", ["at the end", "after each"])
def test_removals_are_told_as_spark_counts_rows(spark, path: Path, tmp_path: Path, vectors: str, reading: str) -> None:
    append(spark, path, 0, "shop")
    append(spark, path, 100, "shop")
    set_properties(spark, path, delta__enableDeletionVectors=vectors, delta__checkpointInterval="4")
    log, files = open_log(str(path)), tmp_path / "files.arrow"
    base = log.sync(files).snapshot()
    told: dict[int, tuple[str | None, Removal, int | None]] = {}
    counts, made = [_count(spark, path)], {}
    for statement, expected in STEPS.items():
        head = log.head_version()
        assert head is not None
        sql(spark, statement, path)
        if log.head_version() == head:
            continue  # nothing to purge without vectors
        made[head + 1] = expected
        counts.append(_count(spark, path))
        if reading == "after each":
            run = log.sync(files, base)
            told |= _told(run)
            base = run.snapshot()
    if reading == "at the end":
        told = _told(log.sync(files, base))
    changes = [after - before for before, after in pairwise(counts)]
    assert {version: told[version][:2] for version in made} == made
    assert [told[version][2] for version in made] == changes


def _count(spark, path: Path) -> int:
    return int(spark.read.format("delta").load(str(path)).count())


def _told(run) -> dict[int, tuple[str | None, Removal, int | None]]:
    """Operation, removal and growth of each commit, as they are known at the end of the pass."""
    commits = {commit.version: commit for commit in run.commits()}
    told = {}
    for version, commit in commits.items():
        sums = run.completed.get(version, commit)
        grown = None if sums.rows_added is None or sums.rows_removed is None else sums.rows_added - sums.rows_removed
        told[version] = commit.operation, sums.removal, grown
    return told
