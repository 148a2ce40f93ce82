"""The supervisor: starts programs in order, starts the dead ones again, stops everything.

One thread, and a `tick` a few times a second: the kernel's promise to end the children with this process holds
for the thread that forked them.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from console.base.processes import ProcessId, die_with_parent, give_way, identify
from console.supervisor.account import Account, popen_user
from console.supervisor.home import Home
from console.supervisor.journal import Journal
from console.supervisor.leftovers import end_jvm, jvm_files, kill_group, wait_until
from console.supervisor.notes import PIDS, STATUSES, Notes
from console.supervisor.signs import Ear, Sign
from console.supervisor.tools import PROJECT

FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
STEADY_S = 60.0  # up for so long, a program has earned a quick restart
TICK_S = 0.1
LOST_TIME_S = 12.0  # between two ticks: this process itself has been stopped
WANTED_EVERY_S = 1.0  # between two questions whether a program is wanted
ASKS = 8  # how often in its silence's limit a program is asked for a sign
PARTS_GRACE_S = 6.5  # a worker that runs a Spark job needs its JVM ended after that
JVM_GRACE_S = 2.5  # to write down that the attempt was given back
SERVER_GRACE_S = 2.0  # each; the whole stop stays below 15 s


class ProgramState(StrEnum):
    """What a program does now."""

    UNWANTED = "unwanted"  # nothing has needed it yet: the health page leaves it out
    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    HUNG = "hung"  # it runs and gives no sign of life: it is ended soon
    DOWN = "down"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Program:
    """A program to keep running. `ready` says of a process, by its pid, whether it can be used; it never raises.

    A program with `wanted` isn't started until that first answers True; from then on it is kept running like any other. It is
    asked in a thread of its own and never raises. `waits` says of a process that isn't ready whether it waits for what a restart can't
    bring; the time until then doesn't count towards `start_limit`. `niceness`: how far it stands back where processors are short (0 to 19).
    """

    name: str
    command: list[str]
    environment: Mapping[str, str]
    ready: Callable[[int], bool]
    start_limit: float
    sign: Sign | None = None  # asked from a thread of its own once it is ready
    silence: float = 40.0  # seconds without a sign, after which it is ended
    after: tuple[str, ...] = ()
    server: bool = False  # servers stop last, one after the other
    stop_signal: signal.Signals = signal.SIGTERM
    death_signal: signal.Signals = signal.SIGKILL
    account: Account | None = None
    descriptors: tuple[int, ...] = ()
    wanted: Callable[[], bool] | None = None
    waits: Callable[[int], bool] | None = None
    niceness: int = 0


class Wish:
    """Asks until a program is wanted, in a thread of its own: an answer that never comes must not hold up the supervisor."""

    def __init__(self, wanted: Callable[[], bool], name: str) -> None:
        self._wanted, self._over = wanted, threading.Event()
        self.is_granted = False
        threading.Thread(target=self._ask, name=f"wanted-{name}", daemon=True).start()

    def close(self) -> None:
        """Asks no more."""
        self._over.set()

    def _ask(self) -> None:
        while not self._over.is_set():
            if self._wanted():
                self.is_granted = True
                return
            self._over.wait(WANTED_EVERY_S)


@dataclass
class Child:
    """A program and its present process."""

    program: Program
    state: ProgramState = ProgramState.WAITING
    process: subprocess.Popen[bytes] | None = None
    identity: ProcessId | None = None
    restarts: int = 0
    last_exit: str | None = None
    since: float = field(default_factory=time.time)
    started: float = 0.0
    waited: float = 0.0  # when it last said that it waits
    next_start: float = 0.0
    delay: float = FIRST_DELAY_S
    has_been_ready: bool = False
    ear: Ear | None = None
    wish: Wish | None = None

    def as_json(self) -> dict[str, object]:
        """The shape in `state/processes.json`; `since` is seconds since the epoch."""
        return {
            "state": self.state.value,
            "pid": self.process.pid if self.process else None,
            "restarts": self.restarts,
            "last_exit": self.last_exit,
            "since": self.since,
        }


class Supervisor:
    """Keeps programs running until `stop`. Call everything from the main thread."""

    def __init__(self, home: Home, journal: Journal, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._journal = journal
        self._notes = Notes(home.state)
        self._clock = clock
        self.children: dict[str, Child] = {}
        self.aloud = False  # whether deaths are told on the terminal
        self._ticked = clock()

    def add(self, *programs: Program) -> None:
        """Programs to start at the next ticks, in this order."""
        for program in programs:
            self.children[program.name] = _child(program)
        self._write_statuses()

    def tick(self) -> None:
        """Look at every child once: note deaths, first answers and silence, start what is due."""
        self._forgive()
        self._notes.write_owed()
        for child in self.children.values():
            if child.process is not None:
                self._look_at(child)
            elif self._is_wanted(child) and self._is_due(child):
                self._start(child)

    def run(self, until: Callable[[], bool]) -> None:
        """Tick until the condition holds."""
        while not until():
            self.tick()
            time.sleep(TICK_S)

    def stop(self) -> None:
        """End everything: parts together, then servers in reverse; nothing is left when it returns."""
        children = list(self.children.values())
        self._stop_parts([child for child in children if not child.program.server])
        for child in reversed([child for child in children if child.program.server]):
            self._stop_server(child)
        for child in children:
            self._stop_listening(child)
            if child.wish:
                child.wish.close()
            self._set(child, ProgramState.STOPPED)
        self._notes.write(PIDS, {})

    def _is_wanted(self, child: Child) -> bool:
        if child.wish and child.wish.is_granted and child.state is ProgramState.UNWANTED:
            self._set(child, ProgramState.WAITING)
        return child.state is not ProgramState.UNWANTED

    def _is_due(self, child: Child) -> bool:
        return self._clock() >= child.next_start and all(self._lets_pass(name) for name in child.program.after)

    def _lets_pass(self, name: str) -> bool:
        """A program waits for another's first answer, but not for one that can't start."""
        other = self.children.get(name)
        return other is None or other.has_been_ready or other.restarts > 0

    def _start(self, child: Child) -> None:
        program = child.program
        child.started = child.waited = self._clock()
        try:
            child.process = self._popen(program)
        except OSError as error:
            self._died(child, f"can't be started: {error}")
            return
        child.identity = identify(child.process.pid)
        if program.niceness:
            give_way(child.process.pid, program.niceness)
        self._write_pids()
        self._set(child, ProgramState.STARTING)
        self._journal.write("started", process=program.name, pid=child.process.pid)

    def _popen(self, program: Program) -> subprocess.Popen[bytes]:
        with open(self._home.logs / f"{program.name}.log", "ab") as log:
            return subprocess.Popen(
                program.command,
                cwd="/" if program.account else PROJECT,
                env=dict(program.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=program.descriptors,
                preexec_fn=die_with_parent(program.death_signal),
                **popen_user(program.account),
            )

    def _look_at(self, child: Child) -> None:
        assert child.process is not None  # nosec B101  # noqa: S101 (the caller looked)
        code = child.process.poll()
        if code is not None:
            self._died(child, describe_exit(code))
        elif child.state is ProgramState.STARTING:
            self._look_for_answer(child)
        elif child.ear and child.ear.silence() > child.program.silence / 2:
            self._hear_nothing(child, child.ear.silence())
        elif child.state is ProgramState.HUNG:
            self._set(child, ProgramState.READY)
        elif child.delay > FIRST_DELAY_S and self._clock() - child.started >= STEADY_S:
            child.delay = FIRST_DELAY_S

    def _look_for_answer(self, child: Child) -> None:
        assert child.process is not None  # nosec B101  # noqa: S101 (the caller looked)
        if child.program.ready(child.process.pid):
            child.has_been_ready = True
            self._set(child, ProgramState.READY)
            if child.program.sign:
                every = child.program.silence / ASKS
                child.ear = Ear(child.process.pid, child.program.sign, every, self._clock)
            seconds = round(self._clock() - child.started, 1)
            self._journal.write("ready", process=child.program.name, seconds=seconds)
        elif child.program.waits and child.program.waits(child.process.pid):
            child.waited = self._clock()
        elif self._clock() - child.waited > child.program.start_limit:
            self._kill(child)
            self._died(child, f"no answer within {child.program.start_limit:.0f} s")

    def _hear_nothing(self, child: Child, silence: float) -> None:
        """At half of the limit the health page shows the silence; at the full limit the supervisor ends and replaces the program."""
        self._set(child, ProgramState.HUNG)
        if silence > child.program.silence:
            self._kill(child)
            self._died(child, f"hung: no sign of life for {silence:.0f} s")

    def _forgive(self) -> None:
        """Doesn't count a part's silence while a server is away, nor any silence while this process was stopped."""
        lost_time = self._clock() - self._ticked > LOST_TIME_S
        self._ticked = self._clock()
        children = self.children.values()
        server_away = any(child.program.server and child.state is not ProgramState.READY for child in children)
        for child in children:
            if child.ear and (lost_time or (server_away and not child.program.server)):
                child.ear.forgive()

    def _died(self, child: Child, reason: str) -> None:
        name = child.program.name
        self._end_remains(child)
        child.process = child.identity = None
        self._stop_listening(child)
        child.last_exit = reason
        child.restarts += 1
        child.next_start = self._clock() + child.delay
        text = f"{name} ended ({reason}); it is started again in {child.delay:.0f} s. See {self._home.logs}/{name}.log"
        child.delay = min(child.delay * 2, LONGEST_DELAY_S)
        self._write_pids()
        self._set(child, ProgramState.DOWN)
        (self._journal.warn if self.aloud else self._journal.write)("died", text=text, process=name, reason=reason)

    def _stop_listening(self, child: Child) -> None:
        if child.ear:
            child.ear.close()
        child.ear = None

    def _end_remains(self, child: Child) -> None:
        """What a dead program left: the rest of its group, and the JVM it had recorded."""
        if child.identity:
            kill_group(child.identity.pgid)
        for file in jvm_files(self._home):
            if file.stem.startswith(f"{child.program.name}_"):  # named after the worker: queue_host
                end_jvm(file)

    def _kill(self, child: Child) -> None:
        if child.process is None:
            return
        if child.process.poll() is None:
            os.killpg(child.process.pid, signal.SIGKILL)  # a session's leader can't lose its group
        child.process.wait()

    def _stop_parts(self, parts: list[Child]) -> None:
        for child in parts:
            self._signal(child)
        if not wait_until(lambda: all(map(_is_gone, parts)), PARTS_GRACE_S):
            self._end_jvms()
            wait_until(lambda: all(map(_is_gone, parts)), JVM_GRACE_S)
        for child in parts:
            self._kill(child)
            self._end_remains(child)
        self._end_jvms()

    def _stop_server(self, child: Child) -> None:
        self._signal(child)
        if not wait_until(lambda: _is_gone(child), SERVER_GRACE_S) and child.process:
            child.process.send_signal(child.program.death_signal)
            wait_until(lambda: _is_gone(child), SERVER_GRACE_S / 2)
        self._kill(child)
        self._end_remains(child)

    def _end_jvms(self) -> None:
        for file in jvm_files(self._home):
            end_jvm(file)

    def _signal(self, child: Child) -> None:
        if child.process and child.process.poll() is None:
            child.process.send_signal(child.program.stop_signal)

    def _set(self, child: Child, state: ProgramState) -> None:
        if state is not child.state:
            child.state, child.since = state, time.time()
        if state is ProgramState.STOPPED:
            child.process = None
        self._write_statuses()

    def _write_pids(self) -> None:
        """After every start and death: what `leftovers.sweep` goes by when this process is killed."""
        running = {name: child.identity.as_json() for name, child in self.children.items() if child.identity}
        self._notes.write(PIDS, running)

    def _write_statuses(self) -> None:
        statuses = {name: child.as_json() for name, child in self.children.items()}
        self._notes.write(STATUSES, statuses)


def describe_exit(code: int) -> str:
    """An exit code in words: negative ones are signals."""
    return f"exit {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _child(program: Program) -> Child:
    if program.wanted is None:
        return Child(program)
    return Child(program, ProgramState.UNWANTED, wish=Wish(program.wanted, program.name))


def _is_gone(child: Child) -> bool:
    return child.process is None or child.process.poll() is not None
