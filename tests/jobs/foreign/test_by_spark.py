"""Tables by Spark, one for each feature of Delta: state and history as Spark reads them, and previews that say nothing wrong."""

from pathlib import Path
from typing import Any

import pytest

from tests.jobs.engine.feature_tables import TABLES
from tests.jobs.engine.test_log_witness import compare
from tests.jobs.foreign.test_previews import false_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


@pytest.mark.parametrize("feature", TABLES)
def test_a_table_with_the_feature_is_read_as_spark_reads_it(runtime: Any, tmp_path: Path, feature: str) -> None:
    session, path = runtime.new_session(), tmp_path / "t"
    TABLES[feature](session, path)
    snapshot = compare(session, path, tmp_path)
    assert false_of(session, path, snapshot) == []
