"""Each file of the corpus alone in a directory: refused by name, converted to the rows that it has, or Delta fails by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jobs.commands.convert.rules import Convert
from jobs.domain.engine import UNCHECKED
from jobs.domain.errors import EngineFailed
from tests.jobs.corpus.collection import FILES
from tests.jobs.corpus.damaged import WHOLE
from tests.jobs.corpus.rows import by_arrow, by_spark
from tests.jobs.corpus.verdicts import BEYOND_PYTHON, DIFFERENT, FAILS, MISREAD, REFUSED

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.xdist_group("engine")]
FILE = "a.parquet"


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_refused_by_name_or_converts_or_fails_in_delta_alone(
    name: str, tmp_path: Path, engine: Any, marks: Any, report: Any, sql: Any
) -> None:
    (tmp_path / FILE).write_bytes(FILES[name])
    command = Convert(str(tmp_path), None, "parquet", None)
    seen = engine.preview(command, None, marks, report)
    assert {refusal.code for refusal in seen.refusals} == ({REFUSED[name]} if name in REFUSED else set())
    if name in REFUSED:
        assert all(refusal.remedy for refusal in seen.refusals)
        return
    if name in FAILS:
        with pytest.raises(EngineFailed) as caught:
            engine.run(command, seen.as_json(), UNCHECKED, marks, report)
        assert caught.value.failure.condition == FAILS[name]
        assert not (tmp_path / "_delta_log").exists()
        return
    engine.run(command, seen.as_json(), UNCHECKED, marks, report)
    if name in BEYOND_PYTHON:
        rows = sql(f"SELECT CAST(c AS string) c FROM delta.`{tmp_path}`")
        assert [row.c for row in rows] == BEYOND_PYTHON[name]
        return
    rows = by_spark(sql(f"SELECT * FROM delta.`{tmp_path}`"))
    if name in MISREAD:
        assert rows != by_arrow(WHOLE)
        return
    assert rows == (DIFFERENT[name][0] if name in DIFFERENT else by_arrow(FILES[name]))


def test_every_verdict_is_of_a_file() -> None:
    assert {*REFUSED, *FAILS, *DIFFERENT, *BEYOND_PYTHON, *MISREAD} <= set(FILES)
