"""Whether an attempt's processes are dead, and making them so: before that nobody may look for its commit, or go on."""

from __future__ import annotations

import os
import signal
import socket
import time

from console.logs import log
from console.supervisor.pids import boot_id, group_members, start_ticks
from jobs.models import Attempt

KILL_WAIT = 10.0


def proven_dead(attempt: Attempt) -> bool | None:
    """Makes the attempt's processes dead and says whether they are; None when that can't be known from this host.

    The JVM's whole group first (it could still commit), then the worker's own process. A boot id that differs on the same
    host proves death: the machine was started anew.
    """
    if attempt.host != socket.gethostname():
        return None
    if attempt.boot_id != boot_id():
        return True
    return _end(attempt.jvm_pid, attempt.jvm_start_ticks, group=True) and _end(
        attempt.pid, attempt.start_ticks, group=False
    )


def _end(pid: int | None, ticks: int | None, *, group: bool) -> bool:
    if pid is None or ticks is None:
        return True
    alive = start_ticks(pid) == ticks
    # A JVM's group may outlive its leader (Python workers): a group is ours while its number is not somebody else's.
    left = group and start_ticks(pid) in {None, ticks} and bool(group_members(pid))
    if not alive and not left:
        return True
    try:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        log.error("cannot_end", pid=pid, error=str(error))
        return False
    until = time.monotonic() + KILL_WAIT
    while time.monotonic() < until:
        if start_ticks(pid) != ticks and not (group and group_members(pid)):
            return True
        time.sleep(0.05)
    return False
