"""Files of Spark itself, in the modes of its older versions and of other writers by the same library: all convert, with the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.xdist_group("engine")]

SQL = "spark.sql.parquet."
OLD_DAYS = {f"{SQL}datetimeRebaseModeInWrite": "LEGACY", f"{SQL}int96RebaseModeInWrite": "LEGACY"}
# Settings of the session, and of the writer's own library.
MODES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "now": ({}, {}),
    "int96": ({f"{SQL}outputTimestampType": "INT96"}, {}),
    "int96-old-days": ({f"{SQL}outputTimestampType": "INT96", **OLD_DAYS}, {}),
    "millis": ({f"{SQL}outputTimestampType": "TIMESTAMP_MILLIS"}, {}),
    "old-days": (OLD_DAYS, {}),
    "legacy-format": ({f"{SQL}writeLegacyFormat": "true"}, {}),
    "legacy-format-int96": ({f"{SQL}writeLegacyFormat": "true", f"{SQL}outputTimestampType": "INT96", **OLD_DAYS}, {}),
    "pages-v2": ({}, {"parquet.writer.version": "v2"}),
    "no-dictionary": ({}, {"parquet.enable.dictionary": "false"}),
    "checksums": ({}, {"parquet.page.write-checksum.enabled": "true"}),
    "bloom": ({}, {"parquet.bloom.filter.enabled": "true"}),
    "small-pages": ({}, {"parquet.page.size": "64", "parquet.page.row.count.limit": "1"}),
    **{f"codec-{name}": ({}, {"compression": name}) for name in ("none", "gzip", "zstd", "lz4", "lz4_raw")},
}
ROWS = """
    SELECT id, cast(id as tinyint) b, cast(id as smallint) s, cast(id as int) i, cast(id / 4 as float) f, id / 4 d,
        cast(id as decimal(9,2)) small, cast(id as decimal(18,2)) middle, cast(id as decimal(38,10)) large,
        concat('name ', id) name, cast('x' as binary) bin, id % 2 = 0 bool, date'1500-03-01' + cast(id as int) * 1000 day,
        timestamp'1500-03-01 12:00:00' + make_interval(id * 10) at, timestamp_ntz'1500-03-01 12:00:00' ntz,
        array(id, null) list, map('k', id) dict, named_struct('x', named_struct('y', id), 'l', array('a')) nested,
        if(id = 1, null, id) missing
    FROM range(40)
"""


@pytest.mark.parametrize("mode", MODES)
def test_files_of_spark_convert_to_their_own_rows(
    mode: str, tmp_path: Path, runtime: Any, engine: Any, marks: Any, report: Any, sql: Any
) -> None:
    settings, options = MODES[mode]
    session, place = runtime.new_session(), tmp_path / "t"
    for name, value in settings.items():
        session.conf.set(name, value)
    session.sql(ROWS).coalesce(1).write.options(**options).parquet(str(place))
    before = sorted(map(str, session.read.parquet(str(place)).collect()))
    command = Convert(str(place), None, "parquet", None)
    seen = engine.preview(command, None, marks, report)
    assert (seen.refusals, seen.footers) == ((), ())
    has_old_days = OLD_DAYS.items() <= settings.items()
    assert {reading.column for reading in seen.times if reading.differs} == ({"day", "at"} if has_old_days else set())
    engine.run(command, seen.as_json(), UNCHECKED, marks, report)
    assert sorted(map(str, sql(f"SELECT * FROM delta.`{place}`"))) == before
