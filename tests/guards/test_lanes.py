"""Heavy tests of one file run in one process, since they share what is made once; a `long` one runs at full size only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT

HEAVY = """
import os, time, pytest

@pytest.mark.spark
@pytest.mark.parametrize("number", range(6))
def test_heavy(number):
    time.sleep(0.1)
    with open({log!r}, "a") as log:
        log.write(f"{{os.getpid()}}\\n")
"""

WALK = "tests/jobs/engine/test_log_witness.py::test_a_random_walk_of_spark_is_read_alike"


@pytest.mark.dear
def test_the_heavy_tests_of_a_file_share_a_process(tmp_path: Path) -> None:
    log = tmp_path / "processes"
    (tmp_path / "test_heavy.py").write_text(HEAVY.format(log=str(log)))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  spark: heavy\n")
    plugins = ("-p", "no:django", "-p", "no:cacheprovider", "-p", "no:playwright", "-p", "tests.lanes")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, "-n", "2", "--dist", "loadgroup", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    processes = log.read_text().split()
    assert len(processes) == 6
    assert len(set(processes)) == 1


@pytest.mark.dear
@pytest.mark.parametrize(("size", "is_there"), [("", False), ("full", True)])
def test_a_long_test_is_collected_at_full_size_only(size: str, is_there: bool) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", WALK, "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"],
        cwd=PROJECT,
        env={**os.environ, "LEVEE_SOAK_SIZE": size},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert f"{WALK}[0]" in listed
    assert (f"{WALK}[1]" in listed) is is_there
