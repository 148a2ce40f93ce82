"""An engine inside the test's own process that does what the test says, on a table of commit files."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.errors import EngineCancelled, EngineFailed, EngineFailure, EngineLost
from jobs.domain.measures import Measure
from jobs.domain.results import Inspection, Result
from tests.jobs import fake_table
from tests.jobs.append import inspection


def failure(message: str = "it broke") -> EngineFailed:
    return EngineFailed(EngineFailure("DELTA_TEST", "XX000", message))


def lost(message: str = "it is gone") -> EngineLost:
    return EngineLost(EngineFailure(None, None, message))


class ScriptedEngine:
    """`before` and `after` are called around the commit; what they raise, the engine raises."""

    def __init__(self) -> None:
        self.before: Callable[[Report], None] = lambda report: None
        self.after: Callable[[Report], None] = lambda report: None
        self.found: Callable[[str], Inspection] = inspection
        self.cancels: list[str] = []
        self.cancelled = threading.Event()
        self.executors = True
        self.ended_hard = threading.Event()

    def preview(self, command: Any, version: int | None, marks: Marks, report: Report) -> Measure:
        self.before(report)
        return self.found(command.path)

    def run(self, command: Any, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report) -> Result:
        report.stage("writing files")
        self.before(report)
        mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
        Path(command.path).mkdir(exist_ok=True)
        files = {fake_table.write_data(command.path, command.rows): command.rows}
        version = fake_table.commit(command.path, "WRITE", mark, files)
        self.after(report)
        return Result(version=version, operation="WRITE", details={"text": "Appended."})

    def rehearse(
        self, command: Any, preview: Mapping[str, Any], version: int, marks: Marks, report: Report
    ) -> dict[str, Any]:
        raise NotImplementedError("this engine rehearses nothing")

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        return {"kind": kind, **question}

    def cancel(self, tag: str) -> None:
        self.cancels.append(tag)
        self.cancelled.set()

    def progress(self, tag: str) -> tuple[int, int] | None:
        return (1, 2)

    def answers(self) -> None: ...

    def busy(self, tag: str) -> bool:
        return False

    def has_executors(self) -> bool:
        return self.executors

    def end_hard(self) -> None:
        self.ended_hard.set()

    def wait_for_cancel(self, report: Report) -> None:
        """What a long Spark job does: it goes on until it is cancelled."""
        assert self.cancelled.wait(20), "nobody cancelled"
        raise EngineCancelled("cancelled")

    def wait_for_the_end(self, report: Report) -> None:
        """What a hanging JVM does: nothing but its end helps."""
        assert self.ended_hard.wait(20), "nobody ended it"
        raise lost()
