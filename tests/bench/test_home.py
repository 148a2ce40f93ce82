"""The bench of home runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import json
import os
import subprocess
import sys

import pytest

from tests.bench import home
from tests.bench.document import DOCUMENT


@pytest.mark.servers
def test_the_bench_of_home_runs():
    """In a process of its own: it starts a server and sets Django up for it."""
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    command = [sys.executable, "-m", "tests.bench.home", *([] if full else ["--tiny"])]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=DOCUMENT.parents[1])
    results = json.loads(answer.stdout[answer.stdout.index('{\n "requests"') :])
    assert len(results["requests"]) == 6 * 3
    assert all(each["queries"] > 0 for each in results["requests"].values())
    print(home.report(home.FULL if full else home.TINY, results))
