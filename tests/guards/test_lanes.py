"""Heavy tests of one file run in one process: what they share (a JVM, an instance) is made once."""

import subprocess
import sys
from pathlib import Path

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
