"""What is mounted where, as the system tells this process."""

from __future__ import annotations

from pathlib import Path

TABLE = Path("/proc/self/mountinfo")


def mount_table() -> str:
    """The table of mounts (proc_pid_mountinfo(5)), which `mounts` reads; empty where the system doesn't say."""
    try:
        return TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
