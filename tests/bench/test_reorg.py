"""The bench of reorg runs: measured in a JVM of its own, or once on the tests' JVM, to prove no more than that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine"), pytest.mark.timeout(0 if FULL else 900)]


def test_the_bench_of_reorg_runs(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    text = measured() if FULL else once(request, tmp_path)
    print(text)
    assert "| purge | " in text


def measured() -> str:
    """In a process of its own: one process has one SparkContext."""
    return subprocess.run(
        [sys.executable, "-m", "tests.bench.reorg"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def once(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Its figures mean nothing."""
    engine = request.getfixturevalue("engine")
    from tests.bench import reorg

    return reorg.report(reorg.measure_tiny(engine, tmp_path), 1)
