"""The engine that workers use: jobs.domain.engine.Engine on one Spark JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from jobs.domain.commands import Command
from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.measures import Measure
from jobs.domain.results import Result
from jobs.engine import progress
from jobs.engine.errors import translate
from jobs.engine.object_stores.settings import BucketSettings
from jobs.engine.runs import rehearsal
from jobs.engine.runtime import Runtime
from jobs.engine.session import job_session
from jobs.worker.runners import READS, RUNNERS
from jobs.worker.warm import nobody_waits, warm_up

# PySpark would print every failed statement with its stack to the worker's output; the job already stores the error.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL)


class Silent:
    """A Report that discards everything."""

    def stage(self, name: str) -> None: ...

    def log(self, text: str) -> None: ...

    def point(self, name: str) -> None: ...


class SparkEngine:
    """Previews, runs and reads on `runtime`, each in a session of its own. Methods may be called from any thread."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._buckets = BucketSettings()

    def start(self) -> None:
        """Starts the JVM and no more. Raises EngineFailed or EngineLost."""
        rehearsal.sweep(self.runtime.scratch)
        self.runtime.start()

    def warm_up(self, report: Report | None = None, is_awaited: Callable[[], bool] = nobody_waits) -> None:
        """Starts the JVM and warms it up, so that its first job is as fast as its tenth. Raises EngineFailed or EngineLost.

        Once `is_awaited` it is ready as far as it has come: whoever waits already is served sooner by a JVM that is half warm.
        """
        report = report or Silent()
        report.stage("starting Spark")
        self.start()
        report.stage("warming up")
        warm_up(self, self.runtime, report, is_awaited)

    def preview(self, command: Command, version: int | None, marks: Marks, report: Report) -> Measure:
        runner = RUNNERS[command.kind]
        if runner.preview is None:
            raise TypeError(f"{command.kind} has no preview by Spark: the log tells what it would do")
        with self._session(marks, runner.paths(command)) as session:
            return runner.preview(session, command, version, report)

    def run(
        self, command: Command, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report
    ) -> Result:
        runner = RUNNERS[command.kind]
        with self._session(marks, runner.paths(command)) as session:
            position = self.runtime.log_position()
            try:
                return runner.run(session, command, preview, checked, report)
            finally:
                for line in self.runtime.warnings_since(position):
                    report.log(line)

    def rehearse(
        self, command: Command, preview: Mapping[str, Any], version: int, marks: Marks, report: Report
    ) -> dict[str, Any]:
        runner = RUNNERS[command.kind]
        fresh = rehearsal.fresh_place(self.runtime.scratch, marks.tag)
        with fresh as place, self._session(marks, runner.paths(command)) as session:
            return rehearsal.rehearse(session, runner, rehearsal.Rehearsing(command, preview, version, place), report)

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        with self._session(marks, [str(question.get("path") or "")]) as session:
            return READS[kind](session, question, report)

    @contextmanager
    def _session(self, marks: Marks, paths: Sequence[str]) -> Iterator[SparkSession]:
        """A session of its own, in which Spark reaches these paths."""
        with job_session(self.runtime, marks) as session, self._buckets.reaching(session, paths):
            yield session

    def cancel(self, tag: str) -> None:
        """Cancels the tag's Spark jobs. Not sticky: does nothing before such a job exists, or when the JVM is gone."""
        if not self.runtime.alive():
            return
        try:
            self.runtime.session.sparkContext.cancelJobsWithTag(tag)
        except (Py4JError, ConnectionError):
            return  # the JVM died between the two lines: nothing is left to cancel

    def progress(self, tag: str) -> tuple[int, int] | None:
        with translate():
            return progress.tasks(self.runtime.session.sparkContext, tag)

    def answers(self) -> None:
        with translate():
            progress.registered(self.runtime.session.sparkContext)

    def busy(self, tag: str) -> bool:
        with translate():
            return progress.holds_slots(self.runtime.session.sparkContext, tag)

    def has_executors(self) -> bool:
        with translate():
            return progress.has_executors(self.runtime.session.sparkContext)
