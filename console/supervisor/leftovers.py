"""Processes that a killed `up`, or a killed worker, left behind: found by what was recorded, and ended.

A record counts only on the boot it was written on, and only while its leader is the same process or gone: then
the number of the group can't have been given to anyone else, since the group still has members.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from console.base.processes import ProcessId, boot_id, group_members, start_ticks
from console.supervisor.home import Home

PARTS_WITH_A_JVM = tuple(b"LEVEE_PROCESS=" + name for name in (b"interactive", b"spark", b"spark-2", b"streams"))
GENTLE_S = 5.0
GONE_S = 10.0
_POLL_S = 0.05


def sweep(home: Home) -> list[str]:
    """End every recorded process of the home that still runs. Returns their names.

    Only for the holder of the home's lock: what is recorded was started by an `up` that is no more.
    """
    ended = [name for name, record in _programs(home).items() if _end(record, name == "postgres")]
    ended += [f"{file.stem} (Java)" for file in jvm_files(home) if end_jvm(file)]
    return ended + end_strays(home)


def end_strays(home: Home) -> list[str]:
    """End the JVMs that a worker was still launching when it ended: not recorded yet, known by home and part in their environment.

    Only for the holder of the home's lock. Returns one name per process.
    """
    strays = [pid for pid in _java_processes() if _belongs_to(pid, home)]
    for pid in strays:
        kill_group(pid)
    wait_until(lambda: not any(start_ticks(pid) for pid in strays), GONE_S)
    return [f"process {pid} (Java)" for pid in strays]


def _java_processes() -> list[int]:
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "comm").read_text().strip() == "java":
                    pids.append(int(entry.name))
    return pids


def _belongs_to(pid: int, home: Home) -> bool:
    """Leads a group of its own, as every JVM of a worker does, and was started for this home by one of the parts that have a JVM.

    The home alone proves nothing: a person who exported LEVEE_HOME has it in every program that they start.
    """
    try:
        environment = set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
        for_home = b"LEVEE_HOME=" + os.fsencode(home.path) in environment
        return os.getpgid(pid) == pid and for_home and not environment.isdisjoint(PARTS_WITH_A_JVM)
    except OSError:
        return False


def jvm_files(home: Home) -> list[Path]:
    """The workers' records of their JVMs, one file per JVM."""
    return sorted(file for file in (home.state / "jvm").glob("*.json") if not file.name.startswith("."))


def end_jvm(file: Path) -> bool:
    """End the recorded JVM and drop its record. True when it still ran."""
    try:
        record = _record(json.loads(file.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        record = None
    ended = _end(record, gently=False) if record else False
    file.unlink(missing_ok=True)
    return ended


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll until the condition holds; False when it still doesn't after that many seconds."""
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(_POLL_S)
    return True


def kill_group(pgid: int) -> None:
    """SIGKILL to whatever is left of a group whose leader was ours."""
    if group_members(pgid):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pgid, signal.SIGKILL)


def _programs(home: Home) -> dict[str, ProcessId]:
    try:
        value = json.loads((home.state / "pids.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    records = {name: _record(fields) for name, fields in value.items()}
    return {name: record for name, record in records.items() if record}


def _record(fields: object) -> ProcessId | None:
    try:
        return ProcessId(**{name: fields[name] for name in ("pid", "start_ticks", "boot_id", "pgid")})  # type: ignore[index]
    except (KeyError, TypeError):
        return None


def _end(record: ProcessId, gently: bool) -> bool:
    members = _living(record)
    if not members:
        return False
    if gently:  # PostgreSQL's sessions have groups of their own: only its leader can end them
        _signal([record.pid], signal.SIGQUIT)
        wait_until(lambda: not _living(record), GENTLE_S)
    if _living(record):
        kill_group(record.pgid)
    wait_until(lambda: not _living(record), GONE_S)
    return True


def _living(record: ProcessId) -> list[int]:
    if record.boot_id != boot_id():
        return []
    ticks = start_ticks(record.pid)
    if ticks is not None and ticks != record.start_ticks:
        return []
    return [pid for pid in group_members(record.pgid) if (start_ticks(pid) or 0) >= record.start_ticks]


def _signal(pids: Iterable[int], sig: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sig)
