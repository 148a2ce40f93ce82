"""REORG … APPLY (PURGE) on real Delta: what the log predicts is what Delta does, and no row changes."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable as Witness
from deltalake import QueryBuilder

from jobs.commands.reorg.comparison import compare
from jobs.commands.reorg.handling import written_for
from jobs.commands.reorg.log import from_log
from jobs.commands.reorg.rules import Reorg
from jobs.domain.comparison import Verdict
from jobs.domain.engine import UNCHECKED
from tests.jobs.commands.optimize.test_spark import subject_at
from tests.jobs.engine.deltas import NAMES, VECTORS, make
from tests.jobs.engine.lake import actions, commits

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.fixture
def spark(runtime):
    return runtime.new_session()


@pytest.fixture
def reorg(engine, marks, report):
    """Previews and runs; answers prediction and result."""

    def do(path: Path, predicate: str | None = None):
        subject = subject_at(path)
        written, node = written_for(subject, Reorg("t", predicate))
        preview = from_log(subject, written, node)
        return preview, engine.run(written, preview, UNCHECKED, marks, report)

    return do


def rows(path: Path) -> list[tuple[Any, ...]]:
    """The rows as delta-rs reads them."""
    answer = QueryBuilder().register("t", Witness(str(path))).execute("SELECT * FROM t ORDER BY id").read_all()
    return list(zip(*(answer.column(name).to_pylist() for name in answer.column_names), strict=True))


def verdicts(preview: Any, result: Any) -> dict[str, Verdict]:
    return {line.name: line.verdict for line in compare(preview, result)}


def vectors(path: Path) -> int:
    column = subject_at(path).snapshot.files().column("deletion_vector")
    return len(column) - int(column.null_count)


def test_deleted_rows_are_purged_partition_by_partition_until_nothing_is_left(spark, tmp_path, reorg):
    path = make(spark, tmp_path / "t", VECTORS)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (2, 3, 5, 32)")
    before = rows(path)
    preview, result = reorg(path, "p = 0")
    assert (preview["files_in"], preview["files_out"], preview["rows_hidden"]) == (2, 1, 2)
    assert (preview["exact"], preview["dropped_columns"]) == (True, False)
    assert result.operation == "REORG"
    found = verdicts(preview, result)
    assert {found[name] for name in ("numRemovedFiles", "numRemovedBytes")} == {Verdict.SAME}
    assert Verdict.DIFFERENT not in found.values()
    assert not [action for action in actions(path, result.version) if action.get("add", {}).get("dataChange")]
    preview, result = reorg(path)
    assert (preview["files_in"], preview["deletion_vectors"]) == (1, 1)
    assert vectors(path) == 0
    assert rows(path) == before
    count = len(commits(path))
    preview, result = reorg(path)
    assert (preview["nothing_to_do"], result.no_op) == (True, True)
    assert len(commits(path)) == count


def test_a_dropped_column_makes_the_numbers_bounds_and_delta_finds_it_in_the_files(spark, tmp_path, reorg):
    path = make(spark, tmp_path / "t", NAMES, files=2)
    assert reorg(path)[0]["nothing_to_do"]
    spark.sql(f"ALTER TABLE delta.`{path}` DROP COLUMN name")
    before = rows(path)
    preview, result = reorg(path)
    assert (preview["dropped_columns"], preview["exact"], preview["files_in"]) == (True, False, 4)
    assert result.operation_metrics["numRemovedFiles"] == "4"
    assert Verdict.DIFFERENT not in verdicts(preview, result).values()
    assert rows(path) == before
    preview, result = reorg(path)
    assert (preview["nothing_to_do"], result.no_op) == (False, True)
