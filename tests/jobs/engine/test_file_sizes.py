"""What Spark makes of a data file whose size in the log isn't its own: the reason why Levee asks storage before a job runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta.tables import DeltaTable

from tables.deltalog.read.data_files import Unlike, unlike
from tables.storage.stores import files_at
from tests.factories import lakes

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
ROWS = 4_000


def two_groups(place: Path) -> tuple[Path, int]:
    """A Delta table of one file in two row groups, and where the first one ends."""
    lakes.delta(place, {"id": list(range(ROWS))})
    [file] = place.glob("*.parquet")
    pq.write_table(pa.table({"id": list(range(ROWS))}), file, row_group_size=ROWS // 2)
    groups = pq.ParquetFile(file).metadata
    last = groups.row_group(1).column(0)
    return file, last.dictionary_page_offset or last.data_page_offset


def say(place: Path, size: int) -> None:
    """Has the log say that the file has so many bytes."""
    log = place / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["size"] = size
    log.write_text("\n".join(map(json.dumps, actions)) + "\n")
    for crc in log.parent.glob("*.crc"):
        crc.unlink()


def test_of_a_file_longer_than_the_log_says_it_leaves_rows_out_and_a_delete_loses_them(
    runtime: Any, tmp_path: Path
) -> None:
    place = tmp_path / "t"
    file, end_of_first = two_groups(place)
    say(place, end_of_first)
    session = runtime.new_session()
    table = DeltaTable.forPath(session, str(place))
    assert len(table.toDF().select("id").collect()) == ROWS // 2
    table.delete("id = 1")
    assert len(table.toDF().select("id").collect()) == ROWS // 2 - 1
    found = unlike(files_at(str(place)), str(place), [(file.name, end_of_first)])
    assert list(found) == [Unlike(file.name, end_of_first, file.stat().st_size)]
