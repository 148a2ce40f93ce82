"""A disk that takes nothing: the supervisor starts, ends and stops programs all the same, and writes up what it owes."""

import contextlib
import errno
import json
import os
from pathlib import Path

import pytest

from console.supervisor.errors import StartRefused
from console.supervisor.home import open_home
from console.supervisor.journal import Journal
from console.supervisor.notes import Notes
from console.supervisor.processes import ProgramState
from tests.console.supervisor.test_processes import SLEEPS, home, kill, pid_of, program, supervising, tick_until
from tests.small_disks import taking_nothing

__all__ = ["home"]  # the fixture


def full(home) -> list[Path]:
    """Every file that the supervisor writes."""
    return [home.state / "pids.json.new", home.state / "processes.json.new", home.logs / "up.log"]


def test_a_full_file_is_really_full(tmp_path):
    with taking_nothing(tmp_path / "file"), pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (tmp_path / "file").write_text("x")


def test_a_program_that_dies_on_a_full_disk_is_started_again(home):
    with taking_nothing(*full(home)), supervising(home, program("part", SLEEPS)) as supervisor:
        child = supervisor.children["part"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        kill(pid_of(child))
        tick_until(supervisor, lambda: child.state is ProgramState.READY and child.restarts == 1)


def test_it_stops_everything_on_a_full_disk(home):
    with supervising(home, program("part", SLEEPS)) as supervisor:
        child = supervisor.children["part"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        pid = pid_of(child)
        (home.logs / "up.log").unlink()
        with taking_nothing(*full(home)):
            supervisor.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_runs_is_noted_once_there_is_space(home):
    with supervising(home, program("part", SLEEPS)) as supervisor:
        with taking_nothing(*full(home)):
            child = supervisor.children["part"]
            tick_until(supervisor, lambda: child.state is ProgramState.READY)
            assert json.loads((home.state / "processes.json").read_text())["part"]["state"] == "waiting"
        supervisor.tick()
        assert json.loads((home.state / "processes.json").read_text())["part"]["state"] == "ready"
        assert json.loads((home.state / "pids.json").read_text())["part"]["pid"] == pid_of(child)


def test_notes_keep_the_newest_value_of_each(tmp_path):
    notes = Notes(tmp_path)
    with taking_nothing(tmp_path / "a.new"):
        notes.write("a", 1)
        notes.write("a", 2)
    assert not (tmp_path / "a").exists()
    notes.write_owed()
    assert json.loads((tmp_path / "a").read_text()) == 2


def test_the_journal_writes_up_what_it_owes_in_order(tmp_path):
    journal = Journal(tmp_path / "up.log")
    with taking_nothing(tmp_path / "up.log"):
        journal.write("one")
        journal.warn("two", "said aloud")
    journal.write("three")
    lines = [json.loads(line)["event"] for line in (tmp_path / "up.log").read_text().splitlines()]
    assert lines == ["one", "two", "three"]


def test_a_terminal_that_takes_nothing_stops_nothing(tmp_path, monkeypatch):
    terminal = open("/dev/full", "w")  # noqa: SIM115 (closing it writes what it holds, which fails again)
    monkeypatch.setattr("sys.stderr", terminal)
    Journal(tmp_path / "up.log").warn("died", "said aloud")
    monkeypatch.undo()
    with contextlib.suppress(OSError):
        terminal.close()
    assert "said aloud" in (tmp_path / "up.log").read_text()


def test_a_home_that_cannot_be_recorded_is_refused_in_one_line(home):
    with (
        taking_nothing(home.path / "home.json.new"),
        pytest.raises(StartRefused, match=r"^LEVEE_HOME: .*No space left on device"),
    ):
        open_home(home.path)
