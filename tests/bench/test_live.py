"""The bench of the live `DeltaTableV2` runs."""

import os

import pytest

from tests.bench import live


@pytest.mark.servers
@pytest.mark.spark
def test_the_bench_of_the_live_table_runs():
    size = live.FULL if os.environ.get("LEVEE_BENCH_SIZE") == "full" else live.TINY
    took = live.measure(size)
    print(live.report(took, size))
    assert all(len(each) >= size.each for each in took.values())
