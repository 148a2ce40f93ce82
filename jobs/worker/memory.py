"""How much memory this process may have: the machine's, and what its control groups leave of it (a container, a systemd unit)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

OWN = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


def machine_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def limit_bytes(own: Path = OWN, groups: Path = GROUPS) -> int | None:
    """The lowest limit of this process's control group and of those above it; None where none is lower than the machine's memory.

    `own` lists the process's groups, `groups` is where they are mounted: a container sees its own group at the top of it. Source: Linux,
    admin-guide/cgroup-v2 (`memory.max`) and cgroup-v1/memory (`memory.limit_in_bytes`).
    """
    found = [limit for file in _files(own, groups) if (limit := _read(file)) is not None]
    lowest = min(found, default=None)
    return lowest if lowest is not None and lowest < machine_bytes() else None


def _files(own: Path, groups: Path) -> Iterator[Path]:
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _upwards(groups, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _upwards(groups / controllers, path, "memory.limit_in_bytes")


def _upwards(top: Path, path: str, name: str) -> Iterator[Path]:
    group = Path(path.lstrip("/"))
    for each in (group, *group.parents):
        yield top / each / name


def _read(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # there is none, or it says `max`
        return None
