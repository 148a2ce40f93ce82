"""The bench of a worker's start runs."""

import os

import pytest

from tests.bench import start


@pytest.mark.spark
def test_the_bench_of_the_start_runs():
    starts, converts = (3, 10) if os.environ.get("LEVEE_BENCH_SIZE") == "full" else (1, 2)
    figures = start.measure(starts, converts)
    print(start.report(figures, starts, converts))
    assert figures["start"] > 0
