"""Which spellings of a path Delta on Spark takes for one file: the witness for `tables.deltalog.read.paths.canonical`."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.replay.log import open_log
from tests.tables.deltalog.writing import LogWriter, add, info, remove

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

NAME = "A%20%C3%A9.parquet"
SPELLINGS = [
    (f"{{t}}/{NAME}", "file:{t}/A%20é.parquet"),
    ("{t}/plain", "file:{t}/plain"),
    (f"file:{{t}}/{NAME}", f"file://{{t}}/{NAME}"),
    (f"{{t}}//{NAME}", f"{{t}}/{NAME}"),
    (NAME, f"./x/../{NAME}"),
    (NAME, "A%20%c3%a9.parquet"),
    (NAME, "%41%20%C3%A9.parquet"),
    (NAME, f"file:{{t}}/{NAME}"),
]


def test_a_remove_takes_away_what_spark_takes_away(runtime, tmp_path):
    session, differences = runtime.new_session(), []
    for at, pair in enumerate(SPELLINGS):
        table = tmp_path / f"t{at}"
        added, removed = (text.format(t=table) for text in pair)
        writer = LogWriter(table)
        for name in ("A é.parquet", "plain"):
            pq.write_table(pa.table({"id": pa.array([1], pa.int64()), "day": ["x"]}), table / name)
        writer.create(add(added, rows=1, size=(table / "plain").stat().st_size))
        writer.commit(1, info(), remove(removed))
        spark = session.read.format("delta").load(str(table)).count()
        ours = open_log(str(table)).snapshot(1, tmp_path / f"{at}.arrow").num_files
        differences += [(pair, spark, ours)] * (spark != ours)
    assert json.dumps(differences) == "[]"
