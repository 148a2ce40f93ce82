"""The bench of delete runs."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"


@pytest.mark.spark
@pytest.mark.timeout(0 if FULL else 600)
def test_the_bench_of_delete_runs():
    """In a process of its own: one process has one SparkContext, and the engine's tests keep theirs."""
    size = [] if FULL else ["--tiny"]
    done = subprocess.run([sys.executable, "-m", "tests.bench.delete", *size], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert "| rewrite | " in done.stdout
