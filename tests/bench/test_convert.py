"""The bench of convert runs."""

import os

import pytest

from tests.bench import convert


@pytest.mark.spark
def test_the_bench_of_convert_runs():
    files, pairs = (5000, 7) if os.environ.get("LEVEE_BENCH_SIZE") == "full" else (100, 1)
    figures = convert.measure(files, pairs)
    print(convert.report(figures, files, pairs))
    assert figures["raw"] > 0
