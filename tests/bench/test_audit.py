"""The bench of the audit runs; its figures are `python -m tests.bench.audit`'s."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"


@pytest.mark.servers
@pytest.mark.timeout(0 if FULL else 900)
def test_the_bench_of_the_audit_runs():
    size = [] if FULL else ["--tiny"]
    done = subprocess.run([sys.executable, "-m", "tests.bench.audit", *size], stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert done.stdout.count("| ≤ ") > 20
