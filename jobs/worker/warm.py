"""Warms up a fresh JVM: runs every command and read once on a small table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from console.base.logs import log
from jobs.domain.commands import Command
from jobs.domain.engine import UNCHECKED, Engine, Marks, Report
from jobs.domain.measures import Measure
from jobs.engine.runtime import Runtime
from jobs.engine.session import job_session
from jobs.worker.runners import RUNNERS

MARKS = Marks(job="warm-up", attempt=1, digest=None)


def nobody_waits() -> bool:
    return False


def warm_up(engine: Engine, runtime: Runtime, report: Report, is_awaited: Callable[[], bool] = nobody_waits) -> None:
    """Writes 20 rows, runs the commands that warm up, deletes twice, reads history, detail, rows and the live table.

    Afterwards the JVM has loaded its classes and compiled its code, and the Python workers have imported pyarrow. Removes its table.
    Ends before its next step once `is_awaited`: what waits loads what it needs, and not what it doesn't.
    """
    place = runtime.scratch / "warm-up"
    shutil.rmtree(place, ignore_errors=True)
    try:
        take(_steps(engine, runtime, report, place), is_awaited)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def take(steps: Iterable[Callable[[], object]], is_awaited: Callable[[], bool]) -> None:
    """Takes one step after the other until somebody waits."""
    for number, step in enumerate(steps):
        if is_awaited():
            log.info("warm_up_ended_early", steps=number)
            return
        step()


def _steps(engine: Engine, runtime: Runtime, report: Report, place: Path) -> Iterator[Callable[[], object]]:
    yield partial(_in_session, runtime, partial(_write, place))
    for runner in RUNNERS.values():
        if runner.warm_up is not None:
            yield from _preview_and_run(engine, runner.warm_up(str(place)), report)
    for act in (_delete, _describe, _read_rows):
        yield partial(_in_session, runtime, partial(act, str(place)))
    yield partial(engine.read, "deltatable", {"path": str(place)}, MARKS, report)


def _in_session(runtime: Runtime, act: Callable[[SparkSession], None]) -> None:
    with job_session(runtime, MARKS) as session:
        act(session)


def _preview_and_run(engine: Engine, command: Command, report: Report) -> Iterator[Callable[[], object]]:
    previews: list[Measure] = []
    yield lambda: previews.append(engine.preview(command, None, MARKS, report))
    yield lambda: engine.run(command, asdict(previews[0]), UNCHECKED, MARKS, report)


def _write(place: Path, session: SparkSession) -> None:
    rows = session.range(20).selectExpr("id", "concat('row ', id) AS text", "cast(id % 2 AS int) AS p")
    rows.write.partitionBy("p").parquet(str(place))


def _delete(place: str, session: SparkSession) -> None:
    table = DeltaTable.forPath(session, place)
    table.delete("id = 3")
    table.delete("p = 1")


def _describe(place: str, session: SparkSession) -> None:
    table = DeltaTable.forPath(session, place)
    table.history(5).collect()
    table.detail().collect()


def _read_rows(place: str, session: SparkSession) -> None:
    DeltaTable.forPath(session, place).toDF().limit(5).collect()
