"""An engine for tests whose JVM is a small process that can be killed and frozen like the real one."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.base.processes import ProcessId, identify
from jobs.domain.engine import Checked, Engine, Marks, Report
from jobs.domain.errors import EngineCancelled, EngineFailure, EngineLost
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.lifecycle.fault_points import FaultPoint
from tests.jobs.append import Append, inspection

PROGRAM = Path(__file__).with_name("fake_jvm.py")


class FakeHost:
    """Starts and ends the process that plays the JVM."""

    waiting = ""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self._process: subprocess.Popen[bytes] | None = None
        self._identity: ProcessId | None = None
        self._ending = threading.Lock()  # two threads may end it: one must not kill what the other has just waited for

    def start(self) -> Engine:
        # -S -E: it needs nothing that is installed, and is there after 20 ms.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._identity = identify(self._process.pid)
        return FakeEngine(self._process)

    def identity(self) -> ProcessId | None:
        return self._identity

    def end_hard(self) -> None:
        with self._ending:
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(10)

    def stop(self) -> None:
        self.end_hard()

    def memory_bytes(self) -> int | None:
        return None


class FakeEngine:
    """Convert and append, on tables of commit files."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._asking, self._telling = threading.Lock(), threading.Lock()

    def preview(self, command: Any, version: int | None, marks: Marks, report: Report) -> Measure:
        report.stage("reading footers")
        self._work(command)
        return inspection(command.path)

    def run(self, command: Any, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report) -> Result:
        if not isinstance(command, Append) and (Path(command.path) / "_delta_log" / f"{0:020d}.json").exists():
            return Result(version=None, operation=None, no_op=True, details={"text": "A Delta table already."})
        report.point(FaultPoint.VERSION_CHECKED)
        report.point(FaultPoint.SPARK_STARTED)
        report.stage("writing files")
        files = self._files(command)
        self._work(command)
        report.point(FaultPoint.FILES_WRITTEN)
        report.stage("committing")
        version = self._commit(command, marks, files, report)
        report.point(FaultPoint.COMMIT_VISIBLE)
        operation = "WRITE" if isinstance(command, Append) else "CONVERT"
        return Result(version=version, operation=operation, details={"text": "Done."})

    def _files(self, command: Any) -> dict[str, int]:
        if isinstance(command, Append):
            return {self._ask(op="write", path=command.path, rows=command.rows)["file"]: command.rows}
        return {p.name: p.stat().st_size for p in Path(command.path).glob("*.parquet")}

    def _work(self, command: Any) -> None:
        """For the command's `seconds`, or until there is a file `enough` in its directory."""
        seconds, gate = getattr(command, "seconds", 0), f"{command.path}/enough"
        if seconds and self._ask(op="work", seconds=seconds, gate=gate).get("cancelled"):
            raise EngineCancelled("cancelled")

    def _commit(self, command: Any, marks: Marks, files: dict[str, int], report: Report) -> int:
        mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
        order = {"op": "commit", "path": command.path, "mark": mark, "files": files, "operation": "WRITE"}
        with self._asking:
            self._tell(order | {"delay": getattr(command, "commit_seconds", 0)})
            report.point("commit sent")
            return int(self._hear()["version"])

    def rehearse(
        self, command: Any, preview: Mapping[str, Any], version: int, marks: Marks, report: Report
    ) -> dict[str, Any]:
        raise NotImplementedError("this engine rehearses nothing")

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        return {"kind": kind, **question}

    def cancel(self, tag: str) -> None:
        self._tell({"op": "cancel"})

    def progress(self, tag: str) -> tuple[int, int] | None:
        return (1, 2)

    def answers(self) -> None: ...

    def busy(self, tag: str) -> bool:
        return False

    def has_executors(self) -> bool:
        return True

    def _ask(self, **order: Any) -> dict[str, Any]:
        with self._asking:
            self._tell(order)
            return self._hear()

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            with self._telling:
                self._process.stdin.write(json.dumps(order).encode() + b"\n")
                self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise _lost() from None

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise _lost()
        found: dict[str, Any] = json.loads(line)
        return found


def _lost() -> EngineLost:
    return EngineLost(EngineFailure(None, None, "the process that plays the JVM is gone"))
