"""What Delta on Spark makes of partition values that the protocol's text calls null: the witness for the preview's reading."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.state.snapshot import Snapshot
from tests.jobs.pruning.tables import add, column, verdicts, write

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

HIVE = "__HIVE_DEFAULT_PARTITION__"
VALUES = ["", HIVE, "a", None]


def table(folder: Path, kind: str, values: list[str | None]) -> tuple[str, Snapshot]:
    """One row per value, and the preview's snapshot of it."""
    adds = [add(at, json.dumps({"numRecords": 1}), {"p": value}) for at, value in enumerate(values)]
    for at, one in enumerate(adds):
        file = folder / "table" / one["add"]["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": pa.array([at], pa.int64())}), file)
        one["add"]["size"] = file.stat().st_size
    snapshot = write(folder, adds, columns=[column("id", "long"), column("p", kind)], partitions=["p"])
    return str(folder / "table"), snapshot


@pytest.mark.parametrize(
    "text", ["p = ''", "p IS NULL", "p IS NOT NULL", f"p = '{HIVE}'", "p <> 'a'", "length(p) = 0", "p <=> NULL"]
)
def test_texts_are_compared_as_they_stand(runtime, tmp_path, text):
    path, snapshot = table(tmp_path, "string", VALUES)
    found = runtime.new_session().read.format("delta").load(path).where(text).select("id").collect()
    matching = {row.id for row in found}
    assert verdicts(snapshot, text) == "".join("M" if at in matching else "c" for at in range(len(VALUES)))


@pytest.mark.parametrize("value", ["", HIVE])
def test_columns_of_other_types_are_read_as_null_and_not_filtered_by(runtime, tmp_path, value):
    path, snapshot = table(tmp_path, "integer", [value, "1"])
    frame = runtime.new_session().read.format("delta").load(path)
    assert sorted((row.id, row.p) for row in frame.collect()) == [(0, None), (1, 1)]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        frame.where("p IS NULL").collect()
    assert (verdicts(snapshot, "p IS NULL"), verdicts(snapshot, "p = 1")) == ("mc", "mM")
