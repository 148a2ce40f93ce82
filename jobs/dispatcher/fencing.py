"""Fences a lost attempt: kills its JVM and worker and proves they are gone, before Levee looks for its commit or tries again."""

from __future__ import annotations

import os
import signal
import socket
import time

from console.base.logs import log
from console.base.processes import boot_id, group_members, is_same_boot, start_ticks
from jobs.models import Attempt, Worker
from tables.storage.local import mounted, mounts
from tables.storage.stores import kind_of

KILL_WAIT = 10.0
# File systems of one kernel, which looks up a name as it is. A share may answer from what it knew a moment ago, FUSE as its program likes.
OF_ONE_KERNEL = frozenset(("btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"))


def takes_versions_once(location: str) -> bool:
    """Whether of two writers of one version of a log at a canonical place the storage tells one that it lost.

    HDFS renames in one step. Hadoop's local file system looks for the file, then renames over it: on a disk of this machine, which
    containers share, some microseconds lie between; of another kind of file system nobody knows. Delta's
    `S3SingleDriverLogStore` looks, then writes; its `GCSLogStore` writes on the condition that the name is new, which Google keeps.
    """
    kind = kind_of(location)
    if kind.is_remote:
        return kind.takes_names_once
    return mounts.kind_at(location, mounts.listed(mounted.mount_table())) in OF_ONE_KERNEL


def proven_dead(attempt: Attempt) -> bool | None:
    """Kills the attempt's processes. Returns whether they are gone; None if this host can't know.

    Kills the JVM's whole group first, since it could still commit, then the worker. A different boot on the same host proves
    that they are gone: the machine has restarted. Another container under this host's name proves nothing: its pids don't count here.
    """
    if attempt.host != socket.gethostname():
        return None
    here = boot_id()
    if attempt.boot_id != here:
        return None if is_same_boot(attempt.boot_id, here) else True
    return _end(attempt.jvm_pid, attempt.jvm_start_ticks, group=True) and _end(
        attempt.pid, attempt.start_ticks, group=False
    )


def end_worker(worker: Worker) -> bool:
    """Kills a worker of this host and its JVM; True once they are gone."""
    jvm = _end(worker.jvm_pid, worker.jvm_start_ticks, group=True)
    return _end(worker.pid, worker.start_ticks, group=False) and jvm


def _end(pid: int | None, ticks: int | None, *, group: bool) -> bool:
    if pid is None or ticks is None:
        return True
    # A pid alone may be another process's by now: the start time tells them apart, so this never kills a stranger.
    alive = start_ticks(pid) == ticks
    # A JVM's group may outlive its leader (Python workers): it is ours until another process has the leader's pid.
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
