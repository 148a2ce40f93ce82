"""What fault points do in processes that tests start: one fault, armed by a file, fires once in whichever process gets there.

The folder is named by LEVEE_TEST_FAULTS. `armed.json` holds the fault; whoever renames it away fires it. `victims-<kind>.json` are
written by workers, `servers.json` by the test.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.base.processes import start_ticks
from jobs.lifecycle.fault_points import arm
from tests.patience import limit

if TYPE_CHECKING:
    from jobs.domain.engine import Engine
    from jobs.worker.host import EngineHost

GONE_S = 2.5


def folder() -> Path | None:
    name = os.environ.get("LEVEE_TEST_FAULTS")
    return Path(name) if name else None


def telling(make: Callable[[str, str], EngineHost]) -> Callable[[str, str], EngineHost]:
    """The same hosts; once its engine is ready, each tells whom a fault may hit."""

    def made(kind: str, name: str) -> EngineHost:
        host: Any = make(kind, name)
        start = host.start

        def told() -> Engine:
            engine: Engine = start()
            _remember_victims(kind, host.identity().pid)
            return engine

        host.start = told
        return host  # type: ignore[no-any-return]

    return made


def _remember_victims(kind: str, jvm: int) -> None:
    """Called in the process that claims: prefork's child, or the only process."""
    if (at := folder()) is not None:
        remember(at / f"victims-{kind}.json", {"main": os.getppid(), "child": os.getpid(), "jvm": jvm})


def remember(path: Path, pids: dict[str, int]) -> None:
    """Each pid with its start ticks: a number may be somebody else's by the time a fault fires."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.write_text(json.dumps({name: [pid, start_ticks(pid)] for name, pid in pids.items()}))
    fresh.replace(path)


def recalled(path: Path, name: str) -> int | None:
    """The pid under that name, None when that very process has ended."""
    try:
        pid, ticks = json.loads(path.read_text())[name]
    except FileNotFoundError:
        return None
    return pid if pid > 1 and ticks is not None and start_ticks(pid) == ticks else None


def arm_from_environment() -> None:
    """Hangs the faults of the folder on every point of this process."""
    at = folder()
    if at is not None:
        arm(lambda point: _reached(at, point))


def _reached(at: Path, point: str) -> None:
    try:
        fault = json.loads((at / "armed.json").read_text())
    except FileNotFoundError:
        return
    if fault["point"] != point:
        return
    try:
        (at / "armed.json").rename(at / "fired.json")
    except FileNotFoundError:
        return  # another process was quicker
    for act in fault["acts"]:
        _act(at, act)


def _act(at: Path, act: dict) -> None:
    kind = act["do"]
    if kind == "sleep":
        time.sleep(act["seconds"])
        return
    number = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "stop": signal.SIGTERM}[kind]
    pid = _victim(at, act["victim"])
    if pid is None:
        return
    ticks = start_ticks(pid)
    os.kill(pid, number)
    until = time.monotonic() + limit(GONE_S)
    while kind == "kill" and start_ticks(pid) == ticks and ticks is not None and time.monotonic() < until:
        time.sleep(0.005)


def _victim(at: Path, name: str) -> int | None:
    if name == "self":
        return os.getpid()
    return recalled(at / ("servers.json" if name in {"postgres", "redis"} else "victims-spark.json"), name)
