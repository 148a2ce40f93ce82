"""`make test-all` runs what has not passed on this tree, in processes of a bearable length, and says of each file what became of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from console.supervisor.tools import PROJECT
from tests.gate import lanes, weights, whole
from tests.gate.lanes import Lane, Result
from tests.gate.verdict import Verdict
from tests.gate.whole import HEAVY, LIGHT, Survey, Work
from tests.patience import limit, wait_for

SURVEY = Survey({"a": 5, "b": 5}, {"b": "b", "s1": "engine", "s2": "engine", "s3": "engine"})
Answer = Callable[[Lane], Result]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "all.json"


def answers(**bad: dict[str, str]) -> Answer:
    """Lanes that pass, but for what is said of a lane: why tests of it fail."""

    def run(lane: Lane) -> Result:
        failed = bad.get(lane.name, {})
        return Result(lane, 1 if failed else 0, 1.0, failed=failed, took=dict.fromkeys(lane.arguments, 2.0))

    return run


def played(place: Path, tree: str | None, run: Answer) -> tuple[list[str], Verdict]:
    """The files of what there was to do, and the verdict."""
    done = whole.kept(lambda: tree, place)
    light, heavy = whole.work_of(SURVEY, done)
    found = whole.judged(light, heavy, run, done)
    return sorted(f"{work.part} {file}" for work in [*light, *heavy] for file in work.files), found


def test_what_passed_on_this_tree_is_not_run_again(place: Path) -> None:
    everything = ["heavy b", "heavy s1", "heavy s2", "heavy s3", "light a", "light b"]
    assert played(place, "one", answers())[0] == everything
    assert played(place, "one", answers())[0] == []
    assert played(place, "two", answers())[0] == everything
    assert played(place, None, answers())[0] == everything
    assert played(place, None, answers())[0] == everything, (
        "a working tree that differs from HEAD may have changed meanwhile"
    )


def test_a_run_that_was_stopped_goes_on_with_the_rest(place: Path) -> None:
    def stopped(lane: Lane) -> Result:
        if "s1" in lane.arguments:
            wait_for(lambda: whole.kept(lambda: "one", place).has_passed(HEAVY, "b"), "the other row is through")
            raise KeyboardInterrupt
        return answers()(lane)

    with pytest.raises(KeyboardInterrupt):
        played(place, "one", stopped)
    assert whole.left(SURVEY, whole.kept(lambda: "one", place)) == ["heavy: s1", "heavy: s2", "heavy: s3"]
    assert played(place, "one", answers())[0] == ["heavy s1", "heavy s2", "heavy s3"]


def test_one_row_is_of_the_tests_own_jvm_and_the_other_goes_beside_it(place: Path) -> None:
    """The first of each wait for each other to have begun, which one after the other would never end."""
    meet = threading.Barrier(2, timeout=limit(5))

    def run(lane: Lane) -> Result:
        if lane.name.startswith("h") and not {"b", "s1"}.isdisjoint(lane.arguments):
            meet.wait()
        return answers()(lane)

    done = whole.kept(lambda: "one", place)
    done.note(
        HEAVY, ["s1", "s2", "s3"], {"s1::x": "", "s2::x": "", "s3::x": ""}, {"s1": 300.0, "s2": 170.0, "s3": 900.0}
    )
    found = played(place, "one", run)[1]
    assert found.lost == {}
    assert sorted(result.lane.name for result in found.results if result.lane.name[0] == "h") == ["h1", "h2", "h3"]


def test_the_row_that_is_through_first_takes_the_last_of_the_other() -> None:
    began, ran = threading.Event(), list[str]()

    def run(lane: Lane) -> Result:
        if lane.name == "e1":
            assert began.wait(limit(5)), "the last one runs beside the first"
        if lane.name == "e3":
            began.set()
        ran.append(lane.name)
        return Result(lane, 0, 1.0)

    engine = [Work(HEAVY, (name,), Lane(name, (name,), 1.0), whole.ENGINE) for name in ("e1", "e2", "e3")]
    whole.in_rows([Work(HEAVY, ("x",), Lane("h1", ("x",), 1.0)), *engine], run, lambda work, result: None)
    assert ran[:2] == ["h1", "e3"]
    assert sorted(ran) == ["e1", "e2", "e3", "h1"]


def test_an_interrupt_of_one_row_ends_what_runs_in_the_other(tmp_path: Path) -> None:
    command, ended = [sys.executable, "-c", "import time; time.sleep(600)"], list[int]()

    def run(lane: Lane) -> Result:
        if lane.name == "h1":
            ended.append(lanes._ended(command, tmp_path, 500.0))
            return Result(lane, ended[0], 1.0)
        wait_for(lambda: bool(lanes._running), "the other row’s process runs")
        raise KeyboardInterrupt

    beside = Work(HEAVY, ("x",), Lane("h1", ("x",), 1.0))
    engine = Work(HEAVY, ("s1",), Lane("h2", ("s1",), 1.0), whole.ENGINE)
    with pytest.raises(KeyboardInterrupt):
        whole.in_rows([beside, engine], run, lambda work, result: None)
    assert ended == [-signal.SIGKILL]


def test_what_ran_while_the_tree_changed_has_passed_on_neither(place: Path) -> None:
    trees = iter(["one", "one", "two", "two", "two", "two"])
    done = whole.kept(lambda: next(trees), place)
    done.note(LIGHT, ["a"], {}, {})
    done.note(LIGHT, ["b"], {}, {})
    assert [done.has_passed(LIGHT, file) for file in ("a", "b")] == [True, False]
    assert {said["tree"] for said in done.results[LIGHT].values()} == {"one", None}


def test_a_heavy_test_that_passes_the_second_time_is_noted_and_done(place: Path) -> None:
    _, found = played(place, "one", answers(h1={"b::x": "the first time"}))
    assert (found.lost, found.second) == ({}, {"b::x": "the first time"})
    kept = json.loads(place.read_text())
    assert kept[HEAVY]["b"] == {"tree": "one", "passed": True, "second_try": True, "seconds": 2.0}
    assert played(place, "one", answers())[0] == []


def test_what_failed_is_said_and_runs_again_the_next_time(place: Path) -> None:
    twice = {"b::x": "always"}
    _, found = played(place, "one", answers(h1=twice, **{"again-1": twice}, l2={"b::y": "light"}))
    assert found.lost == {"b::x": "always", "b::y": "light"}
    assert played(place, "one", answers())[0] == ["heavy b", "light b"]


def test_a_process_that_ends_without_a_word_has_passed_nothing(place: Path) -> None:
    _, found = played(place, "one", lambda lane: Result(lane, 3, 1.0))
    assert set(found.lost) == {"a", "b", "s1", "s2", "s3"}
    assert len(played(place, "one", answers())[0]) == 6


def test_files_that_share_something_share_a_process_for_some_minutes(place: Path) -> None:
    done = whole.kept(lambda: "one", place)
    done.note(
        HEAVY, ["s1", "s2", "s3"], {"s1::x": "", "s2::x": "", "s3::x": ""}, {"s1": 300.0, "s2": 170.0, "s3": 900.0}
    )
    _, heavy = whole.work_of(SURVEY, done)
    assert [work.files for work in heavy] == [("b",), ("s1", "s2"), ("s3",)]
    assert [work.lane.minutes for work in heavy] == [1.0, 7.8, 15.0]
    light, _ = whole.work_of(SURVEY, whole.kept(lambda: "one", place))
    assert sorted(light[0].files + light[1].files) == ["a", "b"]
    assert (light[0].part, light[0].lane.options[-1]) == (LIGHT, whole.CHOSEN[LIGHT])


def test_a_first_run_takes_the_times_of_another_machine(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "HEAVY_KEPT", tmp_path / "heavy.json")
    weights.keep(weights.HEAVY_KEPT, {"s1": 300.0, "s2": 300.0, "s3": 0.2})
    _, heavy = whole.work_of(SURVEY, whole.kept(lambda: "one", place))
    assert [work.files for work in heavy] == [("b",), ("s1",), ("s2", "s3")]
    assert [work.lane.minutes for work in heavy] == [1.0, 5.0, 6.0]


CASES = """
import pytest
def test_light(): pass
@pytest.mark.spark
@pytest.mark.xdist_group("engine")
def test_heavy(): pass
"""


def test_a_survey_tells_light_from_heavy_files(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  spark: heavy\n")
    (tmp_path / "test_both.py").write_text(CASES)
    (tmp_path / "test_own.py").write_text("import pytest\n@pytest.mark.servers\ndef test_heavy(): pass\n")
    options = (
        "-q",
        "--collect-only",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:playwright",  # which would empty the folder of the gate's verdicts
        "-p",
        "tests.gate.survey",
        "-p",
        "tests.lanes",
    )
    written = f"--survey={tmp_path / 'survey.json'}"
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, written, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=PROJECT,
        check=True,
    )
    survey = Survey(**json.loads((tmp_path / "survey.json").read_text()))
    assert survey == Survey({"test_both.py": 1}, {"test_both.py": "engine", "test_own.py": "test_own.py"})
