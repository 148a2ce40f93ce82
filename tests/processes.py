"""Living processes by what they were started for: unlike a pid, no later process has that by chance."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path


def started_for(place: Path, variable: str) -> dict[int, str]:
    """Command lines, by pid, of processes that have the place, or one below it, in this variable of their environment or in their command
    line (a server's environment is empty); never this process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                command, environment = ((entry / name).read_bytes() for name in ("cmdline", "environ"))
                if _names(place, command) or _names(place, environment, before=f"{variable}=".encode()):
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def _names(place: Path, text: bytes, before: bytes = b"") -> bool:
    return re.search(re.escape(before + os.fsencode(place)) + rb"(?=[/\0 ,:]|$)", text) is not None
