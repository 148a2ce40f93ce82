"""The bench of a lake's first catalog runs; its figures are `python -m tests.bench.lake`'s."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"


@pytest.mark.servers
@pytest.mark.timeout(0 if FULL else 900)
def test_the_bench_of_a_first_catalog_runs():
    size = [] if FULL else ["--tiny"]
    done = subprocess.run([sys.executable, "-m", "tests.bench.lake", *size], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert "| every log read after |" in done.stdout
