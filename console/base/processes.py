"""Who a process is: pid, start ticks and boot id together; a pid alone may have been given to another."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_FIRST_NAMESPACE = 0xEFFFFFFC  # the kernel's PROC_PID_INIT_INO: the pid namespace that it boots with
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class ProcessId:
    """A process that can be told from a later one with the same number."""

    pid: int
    start_ticks: int
    boot_id: str
    pgid: int

    def as_json(self) -> dict[str, int | str]:
        """The shape of `state/pids.json` and of the workers' records of their JVM."""
        return asdict(self)


def boot_id() -> str:
    """What pids and start ticks count from here: the kernel's boot and, in a container, its pid namespace (`BOOT/NAMESPACE`).

    Containers of one machine share the boot, and a pid of one is another process, or none, in the next.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return boot if namespace == _FIRST_NAMESPACE else f"{boot}/{namespace}"


def is_same_boot(one: str, other: str) -> bool:
    """Whether two ids, of `boot_id`, are of the same boot of one kernel, whatever their namespaces."""
    return one.split("/")[0] == other.split("/")[0]


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is none (a zombie counts as none)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()  # the name may hold blanks and brackets
    return None if fields[0] in ("Z", "X") else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process: it is there, and does nothing until another lets it go on."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat[stat.rindex(")") + 2] == "T"


def identify(pid: int) -> ProcessId | None:
    """The full identity of a running process, None when it is gone."""
    ticks = start_ticks(pid)
    if ticks is None:
        return None
    try:
        return ProcessId(pid, ticks, boot_id(), os.getpgid(pid))
    except ProcessLookupError:
        return None


def group_members(pgid: int) -> list[int]:
    """Pids of the living processes (no zombies) of a process group."""
    return [pid for pid in _pids() if _group_of(pid) == pgid]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _group_of(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[0] in ("Z", "X") else int(fields[2])


def give_way(pid: int, niceness: int) -> None:
    """Lets others have the processors first: `niceness` (0 to 19) for a young process and its session, never less than this process has.

    Linux shares processors out among sessions before it looks at processes, so a session's leader needs both.
    """
    least = max(niceness, os.nice(0))
    with contextlib.suppress(OSError):  # gone already
        os.setpriority(os.PRIO_PROCESS, pid, least)
    with contextlib.suppress(OSError):  # a kernel without such groups, or one that forbids it
        Path(f"/proc/{pid}/autogroup").write_text(str(least))


def die_with_parent(sig: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`: the child gets `sig` when this process ends, however it ends.

    Only from the main thread (the kernel watches the forking *thread*), and only after the
    uid has been dropped, which Popen does first: a change of uid clears the setting.
    """
    parent = os.getpid()

    def arm() -> None:
        if _libc.prctl(_PR_SET_PDEATHSIG, int(sig), 0, 0, 0) != 0:
            sys.exit(1)
        if os.getppid() != parent:  # the parent died before the setting was in place
            os._exit(1)

    return arm
