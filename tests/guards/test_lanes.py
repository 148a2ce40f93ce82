"""Heavy tests of one file run in one process, since they share what is made once; a `long` one runs at full size only."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT
from tests.lanes import RERUN

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


def test_the_heavy_tests_of_a_file_share_a_process(tmp_path: Path) -> None:
    log = tmp_path / "processes"
    (tmp_path / "test_heavy.py").write_text(HEAVY.format(log=str(log)))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  spark: heavy\n")
    plugins = ("-p", "no:django", "-p", "no:cacheprovider", "-p", "tests.lanes")
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


ONCE = """
import pathlib
import pytest

{marker}
def test_fails_at_first():
    seen = pathlib.Path({seen!r})
    if not seen.exists():
        seen.touch()
        raise AssertionError("the first time")
"""


@pytest.mark.parametrize(
    ("marker", "rerun", "code"), [("@pytest.mark.servers", "1", 0), ("@pytest.mark.servers", "", 1), ("", "1", 1)]
)
def test_in_ci_a_heavy_test_that_fails_runs_once_more(tmp_path: Path, marker: str, rerun: str, code: int) -> None:
    (tmp_path / "test_once.py").write_text(ONCE.format(marker=marker, seen=str(tmp_path / "seen")))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  servers: heavy\n")
    plugins = ("-p", "no:django", "-p", "no:cacheprovider", "-p", "tests.lanes")
    command = [sys.executable, "-m", "pytest", *plugins, "-ra", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, env={**os.environ, RERUN: rerun}, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
    assert ("1 passed, 1 rerun" in done.stdout) is (code == 0)


def test_what_runs_in_ci_asks_for_it_and_leaves_hypothesis_its_chance() -> None:
    script = (PROJECT / ".ci" / "run").read_text()
    assert f"export {RERUN}=" in script
    assert "export CI=" not in script


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


def test_what_asks_for_a_second_run_reaches_the_tests() -> None:
    """Tests forget the settings of a developer's own instance, before they are collected."""
    assert not RERUN.startswith("LEVEE_")
    assert f"export {RERUN}=1" in (PROJECT / ".ci" / "run").read_text()
