"""An engine whose runs are timed, for the bench: what is left of a job's time is the machinery's."""

import json
import time
from collections.abc import Callable
from typing import Any

from jobs.domain.engine import Engine
from jobs.worker.host import EngineHost
from tests.jobs.faults import folder


def timed(make: Callable[[str, str], EngineHost]) -> Callable[[str, str], EngineHost]:
    """The same hosts; each run of their engines is a line `[job, seconds]` in `engine.times`."""

    def made(kind: str, name: str) -> EngineHost:
        host: Any = make(kind, name)
        start = host.start
        host.start = lambda: _timed_engine(start())
        return host  # type: ignore[no-any-return]

    return made


def _timed_engine(engine: Any) -> Engine:
    run = engine.run

    def timed_run(command: Any, preview: Any, checked: Any, marks: Any, report: Any) -> Any:
        began = time.perf_counter()
        try:
            return run(command, preview, checked, marks, report)
        finally:
            _write(marks.job, time.perf_counter() - began)

    engine.run = timed_run
    return engine  # type: ignore[no-any-return]


def _write(job: str, seconds: float) -> None:
    at = folder()
    if at is not None:
        with (at / "engine.times").open("a") as times:
            times.write(json.dumps([job, seconds]) + "\n")
