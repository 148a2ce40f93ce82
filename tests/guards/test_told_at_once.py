"""What a run that is cut off has said by then."""

import subprocess
import sys
from pathlib import Path

from console.supervisor.tools import PROJECT

CUT_OFF = """
import os
def test_fails(): assert 1 == 2
def test_never_ends(): os._exit(3)
"""


def test_a_failure_is_told_before_the_run_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "test_cut_off.py"
    file.write_text(CUT_OFF)
    alone = [
        "-c",
        "/dev/null",
        "--rootdir",
        str(tmp_path),
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:playwright",  # which would empty the folder of the gate's verdicts
    ]
    command = [sys.executable, "-u", "-m", "pytest", *alone, "-p", "tests.told_at_once", str(file)]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 3
    assert "FAILED test_cut_off.py::test_fails (call, after 0 s)" in run.stdout
    assert "assert 1 == 2" in run.stdout
