"""The supervisor with real, small programs."""

import contextlib
import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.base.processes import group_members, start_ticks
from console.supervisor.home import Home, open_home
from console.supervisor.journal import Journal
from console.supervisor.leftovers import end_strays, sweep, wait_until
from console.supervisor.processes import Child, Program, ProgramState, Supervisor
from tests.servers import remove

LIMIT_S = 20.0
SLEEPS = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
WITH_GRANDCHILD = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]); {SLEEPS}"


@pytest.fixture
def home() -> Iterator[Home]:
    directory = Path(tempfile.mkdtemp(prefix="levee-supervised-"))
    directory.chmod(0o711)
    home = open_home(directory / "home")
    yield home
    remove(home)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def program(name: str, code: str, ready: Callable[[int], bool] = lambda pid: True, **fields) -> Program:
    return Program(name, [sys.executable, "-c", code], dict(os.environ), ready, start_limit=LIMIT_S, **fields)


@contextlib.contextmanager
def supervising(home: Home, *programs: Program, clock: Clock | None = None) -> Iterator[Supervisor]:
    supervisor = Supervisor(home, Journal(home.logs / "up.log"), **({"clock": clock} if clock else {}))
    supervisor.add(*programs)
    try:
        yield supervisor
    finally:
        supervisor.stop()


def tick_until(supervisor: Supervisor, condition: Callable[[], bool]) -> None:
    def met() -> bool:
        supervisor.tick()
        return condition()

    assert wait_until(met, LIMIT_S), {name: child.as_json() for name, child in supervisor.children.items()}


def tick_on_until(supervisor: Supervisor, clock: Clock, condition: Callable[[], bool]) -> None:
    """The same, and with each look time goes on."""

    def met() -> bool:
        clock.now += 0.2
        return condition()

    tick_until(supervisor, met)


def test_it_starts_a_program_only_once_those_before_it_have_answered(home):
    answers: list[int] = []
    first = program("first", SLEEPS, ready=lambda pid: bool(answers))
    with supervising(home, first, program("second", SLEEPS, after=("first",))) as supervisor:
        for _ in range(3):
            supervisor.tick()
        assert supervisor.children["second"].state is ProgramState.WAITING
        answers.append(1)
        tick_until(supervisor, lambda: supervisor.children["second"].state is ProgramState.READY)


def test_a_program_stands_back_from_the_others_as_far_as_it_is_told(home):
    with supervising(home, program("modest", SLEEPS, niceness=5), program("plain", SLEEPS)) as supervisor:
        tick_until(supervisor, lambda: all(child.state is ProgramState.READY for child in supervisor.children.values()))
        pids = {name: child.identity.pid for name, child in supervisor.children.items() if child.identity}
        modest, plain, mine = pids["modest"], pids["plain"], os.nice(0)
        assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in (modest, plain)] == [max(5, mine), mine]
        session = Path(f"/proc/{modest}/autogroup")
        assert not session.exists() or session.read_text().split()[-1] == str(max(5, mine))


def test_it_does_not_wait_for_a_program_that_cannot_start(home):
    first = program("first", "raise SystemExit(3)", ready=lambda pid: False)
    with supervising(home, first, program("second", SLEEPS, after=("first",))) as supervisor:
        tick_until(supervisor, lambda: supervisor.children["second"].state is ProgramState.READY)
        assert supervisor.children["first"].last_exit == "exit 3"


def recorded_state(home: Home, name: str) -> str:
    return str(json.loads((home.state / "processes.json").read_text())[name]["state"])


@pytest.fixture
def asked_often(monkeypatch) -> float:
    """Seconds between two questions whether a program is wanted."""
    every = 0.05
    monkeypatch.setattr("console.supervisor.processes.WANTED_EVERY_S", every)
    return every


def test_it_starts_a_program_only_once_it_is_wanted_and_then_keeps_it_running(home, asked_often):
    answers, asked = [False], []

    def wanted() -> bool:
        asked.append(time.monotonic())
        return answers[-1]

    clock = Clock()
    with supervising(home, program("late", SLEEPS, wanted=wanted), program("part", SLEEPS), clock=clock) as supervisor:
        late, part = supervisor.children["late"], supervisor.children["part"]
        tick_until(supervisor, lambda: len(asked) > 4)
        assert part.state is ProgramState.READY, "the others don't wait for it"
        assert (late.state, late.process, recorded_state(home, "late")) == (ProgramState.UNWANTED, None, "unwanted")
        assert min(later - earlier for earlier, later in itertools.pairwise(asked)) >= asked_often
        answers.append(True)
        tick_until(supervisor, lambda: late.state is ProgramState.READY)
        assert recorded_state(home, "late") == "ready"
        answers.append(False)
        times = len(asked)
        kill(pid_of(late))
        tick_until(supervisor, functools.partial(has_died, late, 1))
        assert late.state is ProgramState.DOWN
        clock.now = late.next_start
        tick_until(supervisor, lambda: late.state is ProgramState.READY)
        assert len(asked) == times, "once wanted it stays wanted"


def test_a_question_that_hangs_holds_up_nobody(home):
    answer = threading.Event()
    with supervising(home, program("late", SLEEPS, wanted=answer.wait), program("part", SLEEPS)) as supervisor:
        tick_until(supervisor, lambda: supervisor.children["part"].state is ProgramState.READY)
        assert supervisor.children["late"].state is ProgramState.UNWANTED
        answer.set()
        tick_until(supervisor, lambda: supervisor.children["late"].state is ProgramState.READY)


def test_after_its_stop_nobody_is_asked_any_more(home, asked_often):
    asked: list[int] = []

    def wanted() -> bool:
        asked.append(1)
        return False

    with supervising(home, program("late", SLEEPS, wanted=wanted)) as supervisor:
        tick_until(supervisor, lambda: len(asked) > 1)
    assert wait_until(lambda: "wanted-late" not in {thread.name for thread in threading.enumerate()}, LIMIT_S)
    assert recorded_state(home, "late") == "stopped"


def test_a_wanted_program_waits_for_those_before_it_only_until_they_were_ready(home, asked_often):
    is_wanted, answers = threading.Event(), threading.Event()
    first = program("first", SLEEPS, ready=lambda pid: answers.is_set())
    early = program("early", SLEEPS, after=("first",), wanted=lambda: True)
    late = program("late", SLEEPS, after=("first",), wanted=is_wanted.is_set)
    with supervising(home, first, early, late, clock=Clock()) as supervisor:
        children = supervisor.children
        tick_until(supervisor, lambda: children["early"].state is ProgramState.WAITING)
        assert recorded_state(home, "first") == "starting"
        answers.set()
        tick_until(supervisor, lambda: children["early"].state is ProgramState.READY)
        kill(pid_of(children["first"]))
        tick_until(supervisor, lambda: children["first"].state is ProgramState.DOWN)
        is_wanted.set()
        tick_until(supervisor, lambda: children["late"].state is ProgramState.READY)
        assert recorded_state(home, "first") == "down"


def test_it_backs_off_from_a_program_that_keeps_dying(home):
    clock = Clock()
    with supervising(home, program("short", "raise SystemExit(1)", ready=lambda pid: False), clock=clock) as supervisor:
        child = supervisor.children["short"]
        delays = []
        for deaths in range(1, 9):
            tick_until(supervisor, functools.partial(has_died, child, deaths))
            delays.append(child.next_start - clock.now)
            clock.now = child.next_start - 0.01
            supervisor.tick()
            assert child.process is None, "it was started before its time"
            clock.now = child.next_start
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60]


def test_a_program_that_ran_for_a_minute_is_started_again_at_once(home):
    clock = Clock()
    with supervising(home, program("steady", SLEEPS), clock=clock) as supervisor:
        child = supervisor.children["steady"]
        for deaths in (1, 2):
            tick_until(supervisor, lambda: child.state is ProgramState.READY)
            kill(pid_of(child))
            tick_until(supervisor, functools.partial(has_died, child, deaths))
            clock.now = child.next_start
        assert child.delay == 4
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        clock.now += 60
        tick_until(supervisor, lambda: child.delay == 1)


def test_a_program_that_does_not_answer_in_time_is_ended(home):
    clock = Clock()
    with supervising(home, program("mute", SLEEPS, ready=lambda pid: False), clock=clock) as supervisor:
        child = supervisor.children["mute"]
        tick_until(supervisor, lambda: child.process is not None)
        pid = pid_of(child)
        clock.now = LIMIT_S + 1
        tick_until(supervisor, lambda: child.restarts == 1)
        assert start_ticks(pid) is None
        assert child.last_exit == "no answer within 20 s"


def test_a_dead_program_takes_its_children_with_it(home):
    with supervising(home, program("parent", WITH_GRANDCHILD)) as supervisor:
        child = supervisor.children["parent"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        group = pid_of(child)
        assert wait_until(lambda: len(group_members(group)) == 2, LIMIT_S)
        kill(group)
        tick_until(supervisor, lambda: child.restarts == 1)
        assert wait_until(lambda: not group_members(group), LIMIT_S)


def test_stop_ends_even_a_program_that_ignores_it(home, monkeypatch):
    monkeypatch.setattr("console.supervisor.processes.PARTS_GRACE_S", 0.2)
    monkeypatch.setattr("console.supervisor.processes.JVM_GRACE_S", 0.2)
    log = home.logs / "deaf.log"
    with supervising(home, program("deaf", DEAF), program("server", SLEEPS, server=True)) as supervisor:
        children = supervisor.children.values()
        tick_until(supervisor, lambda: all(child.state is ProgramState.READY for child in children))
        assert wait_until(lambda: "deaf" in log.read_text(), LIMIT_S)
        groups = [pid_of(child) for child in children]
    assert not any(group_members(group) for group in groups)


def test_what_a_killed_supervisor_left_is_found_and_ended(home):
    """A grandchild outlives the death of its parent, which the kernel ends with the supervisor."""
    with supervising(home, program("parent", WITH_GRANDCHILD)) as supervisor:
        child = supervisor.children["parent"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        group = pid_of(child)
        assert wait_until(lambda: len(group_members(group)) == 2, LIMIT_S)
        kill(group)
        assert wait_until(lambda: start_ticks(group) is None, LIMIT_S)
        assert len(group_members(group)) == 1
        assert sweep(home) == ["parent"]
        assert wait_until(lambda: not group_members(group), LIMIT_S)
        assert sweep(home) == []


@pytest.mark.parametrize("field", ["boot_id", "start_ticks"])
def test_a_process_that_only_shares_the_number_is_left_alone(home, field):
    with supervising(home, program("other", SLEEPS)) as supervisor:
        child = supervisor.children["other"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        assert child.identity is not None
        file = home.state / "pids.json"
        wrong = {"boot_id": "another boot", "start_ticks": child.identity.start_ticks - 1}[field]
        right = {"boot_id": f'"{child.identity.boot_id}"', "start_ticks": str(child.identity.start_ticks)}[field]
        text = file.read_text()
        assert right in text
        file.write_text(text.replace(right, f'"{wrong}"' if field == "boot_id" else str(wrong)))
        assert sweep(home) == []
        assert start_ticks(pid_of(child)) is not None


def pid_of(child: Child) -> int:
    assert child.process is not None
    return child.process.pid


def has_died(child: Child, times: int) -> bool:
    return child.restarts == times


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def java_of(home: Home | None, tmp_path: Path, **marks: str) -> subprocess.Popen[bytes]:
    """A process that the kernel calls java, leading a group of its own."""
    program = tmp_path / "java"
    if not program.exists():
        program.symlink_to(shutil.which("sleep") or "/bin/sleep")
    environment = {**os.environ, "LEVEE_HOME": str(home.path) if home else "/another/home", **marks}
    return subprocess.Popen([program, "600"], env=environment, start_new_session=True)


def test_a_jvm_that_was_not_recorded_yet_is_ended_and_those_of_others_are_not(home, tmp_path):
    """A person who has exported LEVEE_HOME has it in the environment of every program."""
    own = java_of(home, tmp_path, LEVEE_PROCESS="spark")
    others = [java_of(None, tmp_path, LEVEE_PROCESS="spark"), java_of(home, tmp_path)]
    try:
        for process in (own, *others):
            assert wait_until(functools.partial(is_java, process.pid), LIMIT_S)
        assert end_strays(home) == [f"process {own.pid} (Java)"]
        assert own.wait(LIMIT_S) == -signal.SIGKILL
        assert [other.poll() for other in others] == [None, None]
    finally:
        for other in others:
            other.kill()
            other.wait()


def is_java(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text() == "java\n"


@pytest.mark.parametrize("how", ["it gives no sign", "a signal has stopped it"])
def test_a_program_that_works_no_more_is_named_then_replaced(home, how):
    clock, works = Clock(), threading.Event()
    works.set()
    quiet = program("quiet", SLEEPS, sign=lambda pid: works.is_set(), silence=3)
    with supervising(home, quiet, clock=clock) as supervisor:
        child = supervisor.children["quiet"]
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        pid = pid_of(child)
        stop = functools.partial(os.kill, pid, signal.SIGSTOP) if "signal" in how else works.clear
        go_on = functools.partial(os.kill, pid, signal.SIGCONT) if "signal" in how else works.set
        stop()
        tick_on_until(supervisor, clock, lambda: child.state is ProgramState.HUNG)
        assert pid_of(child) == pid
        go_on()
        tick_until(supervisor, lambda: child.state is ProgramState.READY)
        stop()
        tick_on_until(supervisor, clock, lambda: child.restarts == 1)
        assert child.last_exit == "hung: no sign of life for 3 s"
        assert start_ticks(pid) is None
        works.set()
        tick_on_until(supervisor, clock, lambda: child.state is ProgramState.READY)
        assert pid_of(child) != pid


def test_a_part_is_not_to_blame_while_a_server_is_away(home):
    asked: list[int] = []

    def sign(pid: int) -> bool:
        asked.append(pid)
        return False

    server = program("server", SLEEPS, ready=lambda pid: len(asked) > 20, server=True)
    with supervising(home, server, program("part", SLEEPS, sign=sign, silence=0.4)) as supervisor:
        part = supervisor.children["part"]
        tick_until(supervisor, lambda: len(asked) > 15)  # twice the time that would cost it its life
        assert part.restarts == 0
        tick_until(supervisor, lambda: part.restarts == 1)


def test_nobody_is_to_blame_after_the_supervisor_itself_was_stopped(home):
    clock = Clock()
    with supervising(home, program("part", SLEEPS, sign=lambda pid: None, silence=30), clock=clock) as supervisor:
        part = supervisor.children["part"]
        tick_until(supervisor, lambda: part.state is ProgramState.READY)
        clock.now += 100
        supervisor.tick()
        assert (part.state, part.restarts) == (ProgramState.READY, 0)


def test_a_program_that_waits_for_another_is_not_ended_for_it(home):
    clock, waits = Clock(), [True]
    part = program("part", SLEEPS, ready=lambda pid: False, waits=lambda pid: waits[-1])
    with supervising(home, part, clock=clock) as supervisor:
        child = supervisor.children["part"]
        supervisor.tick()
        for _ in range(3):
            clock.now += LIMIT_S + 1
            supervisor.tick()
        assert (child.state, child.restarts) == (ProgramState.STARTING, 0)
        waits.append(False)
        clock.now += LIMIT_S
        supervisor.tick()
        assert child.restarts == 0, "the limit counts from the end of the wait"
        clock.now += 1
        supervisor.tick()
        assert (child.state, child.restarts) == (ProgramState.DOWN, 1)
