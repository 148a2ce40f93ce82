"""The bench of fifty sessions runs; full size with LEVEE_BENCH_SIZE=full. In a process of its own: it sets Django up for an instance."""

import os
import subprocess
import sys

import pytest

from tests.bench import sessions
from tests.bench.document import DOCUMENT


@pytest.mark.servers
@pytest.mark.xdist_group("up")
def test_the_bench_of_fifty_sessions_runs_without_an_error():
    full = os.environ.get("LEVEE_BENCH_SIZE") == "full"
    command = [sys.executable, "-m", "tests.bench.sessions", *([] if full else ["--tiny"])]
    done = subprocess.run(command, capture_output=True, text=True, cwd=DOCUMENT.parents[1])
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in sessions.pages(sessions.TINY, []):
        assert f"| {kind} |" in done.stdout
    assert "Errors: 0." in done.stdout
