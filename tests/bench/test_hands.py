"""The bench of the palette and the lists runs and measures what it says; full size with LEVEE_BENCH_SIZE=full."""

import json
import os
import subprocess
import sys

import pytest

from tests.bench import hands
from tests.bench.document import DOCUMENT


@pytest.mark.servers
def test_the_bench_of_the_palette_runs():
    """In a process of its own: it starts a server and sets Django up for it."""
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    command = [sys.executable, "-m", "tests.bench.hands", *([] if full else ["--tiny"])]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=DOCUMENT.parents[1])
    results = json.loads(answer.stdout[answer.stdout.index('{\n "requests"') :])
    assert set(results["requests"]) == set(hands.requests({}, hands.TINY))
    empty = [name for name, each in results["requests"].items() if not name.startswith("palette") and each["rows"] < 8]
    assert not empty, "these lists show next to nothing: of the smallest size, each has eight rows at least"
    print(hands.report(hands.FULL if full else hands.TINY, results))
