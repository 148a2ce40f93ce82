"""The gate's own runner, on small tests that fail once, fail always, or take their process with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from console.base.processes import start_ticks
from console.supervisor.leftovers import wait_until
from console.supervisor.tools import PROJECT
from tests.gate import folder, lanes, share, verdict, weights
from tests.gate.lanes import Lane, Result
from tests.gate.verdict import Verdict

PLAIN = ("-p", "no:cacheprovider", "--maxfail", str(lanes.ENOUGH))
LIGHT = Lane("light", ("light_cases.py",), 1.0, PLAIN)
HEAVY = Lane("heavy", ("heavy_cases.py",), 1.0, PLAIN)
PASSES = "def test_passes():\n    pass\n"
ONCE = """
def test_fails_once_{name}():
    seen = pathlib.Path({place!r}, "{name}")
    if not seen.exists():
        seen.touch()
        {act}
"""
FAILS, DIES = 'raise AssertionError("the first time")', "os.kill(os.getpid(), 9)"


class Suite:
    """A folder of tests that stands for the project."""

    def __init__(self, place: Path) -> None:
        self.place, self.seen = place / "suite", place / "seen"
        self.seen.mkdir()
        self.place.mkdir()
        (self.place / "pytest.ini").write_text("[pytest]\n")
        self.write("light", PASSES)

    def write(self, lane: str, *cases: str) -> None:
        (self.place / f"{lane}_cases.py").write_text("import os, pathlib\n" + "\n".join(cases))

    def once(self, name: str, act: str = FAILS) -> str:
        return ONCE.format(name=name, place=str(self.seen), act=act)

    def judged(self) -> Verdict:
        with folder.opened() as place:
            return verdict.judged([LIGHT], [HEAVY], lambda lane: self._run(lane, place))

    def _run(self, lane: Lane, place: Path) -> Result:
        return lanes.run(lane if lane.options == PLAIN else Lane(lane.name, lane.arguments, 1.0, PLAIN), place)


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    made = Suite(tmp_path)
    monkeypatch.setattr(lanes, "PROJECT", made.place)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # most of a small run's time
    return made


def test_a_heavy_test_that_fails_once_counts_by_its_second_try_and_is_told(suite: Suite, tmp_path: Path) -> None:
    suite.write("heavy", suite.once("a"), PASSES)
    found = suite.judged()
    assert (found.passed, list(found.second)) == (True, ["heavy_cases.py::test_fails_once_a"])
    verdict.keep(found, 90, "abc", tmp_path)
    assert json.loads((tmp_path / "gate.json").read_text()) == {
        "tree": "abc",
        "passed": True,
        "minutes": 1.5,
        "second_tries": 1,
    }
    kept = json.loads((tmp_path / "second-tries.jsonl").read_text())
    assert (kept["test"], kept["passed"]) == ("heavy_cases.py::test_fails_once_a", True)
    lines = verdict.told(found, 90)
    assert lines[0] == "second try: heavy_cases.py::test_fails_once_a"
    assert any("the first time" in line for line in lines)
    assert lines[-1] == "==== 3 passed, 0 skipped, 1 second tries in 1.5 min: passed ===="


def test_a_lane_keeps_what_python_compiles(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    suite.write("heavy", "import sys\ndef test_keeps():\n    assert not sys.dont_write_bytecode\n")
    assert suite.judged().second == {}


def test_a_heavy_test_that_fails_always_fails_the_run(suite: Suite) -> None:
    suite.write("heavy", "def test_fails():\n    assert 1 == 2\n", PASSES)
    found = suite.judged()
    assert (found.passed, list(found.lost)) == (False, ["heavy_cases.py::test_fails"])
    assert verdict.told(found, 60)[-1].endswith("FAILED ====")


def test_a_light_test_has_no_second_try_and_no_heavy_lane_runs_after_it(suite: Suite) -> None:
    suite.write("light", suite.once("a"))
    suite.write("heavy", PASSES)
    found = suite.judged()
    assert (found.passed, list(found.lost), found.not_run) == (False, ["light_cases.py::test_fails_once_a"], ["heavy"])
    assert found.second == {}


def test_a_process_that_dies_costs_its_own_tests_a_second_try(suite: Suite) -> None:
    later = [PASSES.replace("passes", f"passes_{number}") for number in range(8)]
    suite.write("heavy", PASSES, suite.once("a", DIES), *later)
    found = suite.judged()
    assert found.passed
    assert len(found.second) == 9, "the one that died, and the eight that never ran; not the one that had passed"
    assert found.second["heavy_cases.py::test_fails_once_a"] == "its process died in it"
    assert found.second["heavy_cases.py::test_passes_7"] == verdict.NEVER_RAN


def test_a_process_that_dies_again_fails_the_run(suite: Suite) -> None:
    suite.write("heavy", f"def test_dies():\n    {DIES}\n", PASSES)
    assert set(suite.judged().lost) == {"heavy_cases.py::test_dies", "heavy_cases.py::test_passes"}


def test_a_file_that_cannot_be_read_fails_the_run(suite: Suite) -> None:
    suite.write("heavy", "raise RuntimeError('no tests here')")
    assert not suite.judged().passed


def test_a_light_test_that_takes_its_process_with_it_is_named(suite: Suite) -> None:
    suite.write("light", PASSES, suite.once("a", DIES))
    suite.write("heavy", PASSES)
    assert list(suite.judged().lost) == ["light_cases.py::test_fails_once_a"]


def test_shares_have_every_file_once_and_take_as_long_as_each_other() -> None:
    others = [f"file{number}" for number in range(7)]
    files = weights.of_files([*others, "long"], {"long": 1.0, "gone": 100.0})
    assert files == dict.fromkeys(others, 0.3) | {"long": 1.0}
    shares = [share.files_of(files, number, 2) for number in (1, 2)]
    assert shares[0] | shares[1] == set(files)
    assert shares[0] & shares[1] == set()
    assert shares[0] == {"long", "file4", "file6"}
    assert shares == [share.files_of(dict(reversed(files.items())), number, 2) for number in (1, 2)]


def test_a_share_loads_its_own_files_alone_and_counts_nobody_elses(tmp_path: Path) -> None:
    """The packages that are installed beside have tests too."""
    for name, text in {
        "tests/test_a": PASSES,
        "tests/test_b": "raise RuntimeError",
        ".venv/tests/test_0": PASSES,
    }.items():
        file = tmp_path / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.gate.share"]
    codes = [
        subprocess.run(
            [*command, "--share", f"{number}/2"], cwd=tmp_path, env=environment, capture_output=True
        ).returncode
        for number in (1, 2)
    ]
    assert codes == [pytest.ExitCode.OK, pytest.ExitCode.INTERRUPTED]


def test_what_never_ran_is_told_however_many_failed_before(tmp_path: Path) -> None:
    """Unless the process was to stop after so many."""
    lines: list[dict[str, Any]] = [{"planned": [f"a::{n}" for n in range(8)]}]
    lines += [{"ended": f"a::{n}", "seconds": 1, "outcome": "failed", "text": ""} for n in range(6)]
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, lines)))
    endless = Lane("all", ("a",), 1.0, ("-n", "0"))
    assert lanes.result_of(endless, -9, 5.0, tmp_path / "one.jsonl").unfinished == ["a::6", "a::7"]
    assert lanes.result_of(HEAVY, 1, 5.0, tmp_path / "one.jsonl").unfinished == []


def test_a_run_of_tests_removes_no_verdict(pytestconfig: pytest.Config) -> None:
    """The browser's plugin empties the folder of its output as it starts."""
    assert (PROJECT / pytestconfig.getoption("--output")).resolve() != folder.RESULTS


def test_how_long_files_take_is_what_their_tests_took(tmp_path: Path) -> None:
    ended = [
        {"ended": f"{test}", "seconds": s, "outcome": "passed"}
        for test, s in (("a::x", 1.5), ("a::y[::]", 1), ("b::x", 2))
    ]
    (tmp_path / "one.jsonl").write_text("\n".join(map(json.dumps, ended)))
    assert lanes.result_of(LIGHT, 0, 5.0, tmp_path / "one.jsonl").took == {"a": 2.5, "b": 2}


def test_a_light_file_that_cannot_be_read_fails_the_run(suite: Suite) -> None:
    suite.write("light", "raise RuntimeError('no tests here')")
    suite.write("heavy", PASSES)
    assert not suite.judged().passed


@pytest.mark.parametrize(("number", "passed"), [(5, True), (6, False)])
def test_more_than_five_that_fail_once_are_a_failure(suite: Suite, number: int, passed: bool) -> None:
    suite.write("heavy", *(suite.once(f"a{n}") for n in range(number)))
    found = suite.judged()
    assert found.passed is passed
    assert len(found.second if passed else found.lost) == number


def test_a_lane_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    assert lanes._ended([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path, 0.5) == -signal.SIGKILL


STOPPED = """
import subprocess, sys, time
from tests.gate import folder, lanes

with folder.opened() as place:
    lanes.PROJECT = __import__("pathlib").Path({suite!r})
    print(place, flush=True)
    lanes.run(lanes.Lane("heavy", ("heavy_cases.py",), 1.0, {plain!r}), place)
"""
SLEEPS = """
import subprocess, sys, time
def test_sleeps():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    pathlib.Path({place!r}, "child").write_text(str(child.pid))
    time.sleep(600)
"""


def test_what_a_run_left_that_was_killed_is_ended_and_removed_by_the_next(suite: Suite) -> None:
    suite.write("heavy", SLEEPS.format(place=str(suite.seen)))
    script = STOPPED.format(suite=str(suite.place), plain=PLAIN)
    run = subprocess.Popen([sys.executable, "-c", script], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    place, child = Path(run.stdout.readline().strip()), suite.seen / "child"
    assert wait_until(lambda: child.is_file() and child.read_text() != "", 60)
    with folder.opened():
        assert place.is_dir(), "another's folder is left alone while it runs"
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert start_ticks(int(child.read_text())) is not None
    folder.remove_leftovers()
    assert not place.exists()
    assert wait_until(lambda: start_ticks(int(child.read_text())) is None, 20)


def test_a_folder_that_no_run_has_locked_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"{folder.PREFIX}backup").mkdir()
    folder.remove_leftovers()
    assert list(tmp_path.iterdir()) == [tmp_path / f"{folder.PREFIX}backup"]


def test_a_tree_that_was_changed_is_no_commits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verdict, "PROJECT", tmp_path)
    assert verdict.tree() is None, "no repository"
    for command in ("init -q", "-c user.name=n -c user.email=e commit -q --allow-empty -m first"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    assert verdict.tree() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    (tmp_path / "file").touch()
    assert verdict.tree() is None
