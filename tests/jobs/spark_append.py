"""The append command on real Spark and Delta, and the moment when its data files are written but no commit is visible."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.engine import Checked, Report
from jobs.domain.results import Inspection, Result
from jobs.engine.commits.history import latest
from jobs.engine.runner import Runner
from jobs.lifecycle.fault_points import FaultPoint
from jobs.worker import spark_engine
from jobs.worker.runners import RUNNERS
from tests.jobs import append
from tests.jobs.append import Append, inspection


def preview_append(session: SparkSession, command: Any, version: int | None, report: Report) -> Inspection:
    return inspection(command.path)


def run_append(
    session: SparkSession, command: Any, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Appends `rows` numbers. The session's marks make it idempotent and traceable, as for every command."""
    report.point(FaultPoint.VERSION_CHECKED)
    report.point(FaultPoint.SPARK_STARTED)
    report.stage("writing files")
    frame = session.range(command.rows).coalesce(1)
    if command.seconds:
        _busy(session, command.seconds)
    with _Written(command.path, report):
        frame.write.format("delta").mode("append").save(command.path)
    report.stage("committing")
    report.point(FaultPoint.COMMIT_VISIBLE)
    commit = latest(session, command.path)
    return Result(version=int(commit.version), operation=commit.operation, details={"text": "Done."})


def _busy(session: SparkSession, seconds: float) -> None:
    """A Spark job of about so many seconds that can be cancelled: it sleeps in tasks of a tenth."""

    def sleep(rows: Any) -> Any:
        import time

        for _ in rows:
            time.sleep(0.1)
        return iter(())

    tasks = max(1, int(seconds * 10))
    session.sparkContext.parallelize(range(tasks), tasks).mapPartitions(sleep).count()


class _Written:
    """Reaches `data files written` when a new parquet file lies there and the log hasn't grown: seen from beside, while Delta commits."""

    def __init__(self, path: str, report: Report) -> None:
        self.table, self.report = Path(path), report
        self._before = self._files(), self._commits()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _files(self) -> set[str]:
        return {p.name for p in self.table.glob("*.parquet")}

    def _commits(self) -> set[str]:
        return {p.name for p in self.table.glob("_delta_log/*.json")}

    def _watch(self) -> None:
        files, commits = self._before
        while not self._over.is_set():
            if self._files() - files and self._commits() == commits:
                self.report.point(FaultPoint.FILES_WRITTEN)
                return
            time.sleep(0.001)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def register() -> None:
    """Makes the command known to the Spark engine of this process."""
    append.register()
    RUNNERS[Append.kind] = Runner(run_append, preview_append)


def skip_warming() -> None:
    """A JVM that lives for one job isn't warmed first: a grid of deaths would do little else."""
    vars(spark_engine)["warm_up"] = lambda engine, runtime, report, is_awaited: None
