"""Rows and the live object right after a change that another Spark process made: a second JVM, not a thread of this one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.engine.deltas import FEED, ids, make
from tests.patience import limit

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine"), pytest.mark.timeout(900)]

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def other(tmp_path):
    """Starts the second worker for one delete; answers what it says, line by line, when it is told to go on."""
    started: list[subprocess.Popen[str]] = []

    def start(path, predicate):
        scratch = tmp_path / "other"
        scratch.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.jobs.engine.other_jvm", str(scratch), str(path), predicate],
            cwd=REPOSITORY, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.communicate("\n\n", timeout=limit(75))


def heard(process):
    line = process.stdout.readline()
    assert line, "the second worker has ended"
    return json.loads(line)


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return heard(process)


def test_rows_read_right_after_a_change_on_another_worker_show_the_new_version(
    engine, runtime, marks, report, tmp_path, other
):
    path = make(runtime.new_session(), tmp_path / "t", FEED)

    def ask(kind, **more):
        return engine.read(kind, {"path": str(path), **more}, marks, report)

    process = other(path, "id = 3")
    assert heard(process)["jvm"] != runtime.identity().pid
    before = ask("rows", limit=100)
    assert (before["version"], len(before["rows"])) == (0, 40)  # this JVM holds the old snapshot from here on
    assert ask("deltatable")["version"] == 0
    assert go_on(process) == {"version": 1}
    after = ask("rows", limit=100)
    assert after["version"] == 1
    assert sorted(row[0] for row in after["rows"]) == [n for n in range(40) if n != 3] == ids(path)
    assert ask("deltatable")["version"] == 1
    changes = ask("changes", from_version=1, limit=10)
    assert (changes["to_version"], [row[-3] for row in changes["rows"]]) == (1, ["delete"])
    assert len(ask("rows", version=0, limit=100)["rows"]) == 40
