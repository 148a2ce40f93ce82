"""The benches with figures of a cluster run on one: at full size on their own (`make bench`), else once, to prove no more than that."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"
pytestmark = [
    *(pytest.mark.spark, pytest.mark.servers, pytest.mark.xdist_group("engine")),
    pytest.mark.timeout(0 if FULL else 600),
]


# By the row that proves it. What the delete does there, the convert does as well: every day that one is enough.
BENCHES = {"convert": "| convert / raw |", "jobs": "| heartbeat and dispatcher, idle, of one core |"}
BENCHES |= {"cluster_delete": "| on the cluster |"} if FULL else {}


@pytest.mark.parametrize("bench", BENCHES)
def test_a_bench_runs_on_a_cluster(request, bench):
    words, secret = (["--cluster"], {}) if FULL else tiny(request)
    command = [sys.executable, "-m", f"tests.bench.{bench}", *words]
    done = subprocess.run(command, env={**os.environ, **secret}, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert BENCHES[bench] in done.stdout


def tiny(request: pytest.FixtureRequest) -> tuple[list[str], dict[str, str]]:
    """On the cluster that other tests have up: its figures mean nothing."""
    cluster = request.getfixturevalue("cluster")
    return ["--tiny", "--cluster", cluster.address], {"LEVEE_SPARK_SECRET": cluster.secret}
