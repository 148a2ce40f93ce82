"""Identifies a process beyond its pid, so that a later start never kills another process that reused the pid."""

from __future__ import annotations

import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from console.base.processes import boot_id


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process: `start_ticks` is the kernel's start time (clock ticks since boot), `boot_id` names what they count from."""

    pid: int
    start_ticks: int
    boot_id: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def alive(self) -> bool:
        """Whether this very process still runs (a zombie doesn't)."""
        return self.boot_id == boot_id() and start_ticks(self.pid) == self.start_ticks

    def kill_group(self) -> bool:
        """Sends SIGKILL to the process group it leads; False if the process is already gone."""
        if not self.alive():
            return False
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def identify(pid: int) -> ProcessIdentity:
    """The identity of a running process. Raises ProcessLookupError when it has ended."""
    ticks = start_ticks(pid)
    if ticks is None:
        raise ProcessLookupError(f"process {pid} has ended")
    return ProcessIdentity(pid, ticks, boot_id())


def start_ticks(pid: int) -> int | None:
    """The start time of a process in clock ticks since boot; None when it has ended, also as a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name may contain spaces and parentheses: the fields start after the last parenthesis.
    state, *fields = stat[stat.rindex(")") + 2 :].split()
    return None if state == "Z" else int(fields[18])


def resident_bytes(pid: int) -> int | None:
    """Resident memory of a process; None when it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
