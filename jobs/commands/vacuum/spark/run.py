"""VACUUM of a Delta table: Delta's own command, given the files that were approved as its inventory; proven by listing again.

Delta gets the plan of the preview, made anew: the same cut, the same tombstones. It takes from it what its newest version needs, and
deletes nothing else. So a run that waited for its approvals deletes no file that became old meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from console.base.text.counted import counted
from jobs.commands.vacuum.rules import Vacuum, hours_for_delta
from jobs.commands.vacuum.spark.approved import approved_plan
from jobs.commands.vacuum.spark.listing import still_there
from jobs.commands.vacuum.spark.measure import measured
from jobs.commands.vacuum.spark.plan import Plan, PlanOrder, planned
from jobs.domain.comparison import number_of
from jobs.domain.engine import Checked, Report
from jobs.domain.measures import Deletable
from jobs.domain.results import Result
from jobs.engine.commits.history import HistoryCommit, commits_after, is_own, recorded
from jobs.engine.directory import changing, judged, keeping, kept
from jobs.engine.runner import Runner
from jobs.engine.versions import started, table_at
from tables.deltalog.vacuum import operations
from tables.deltalog.vacuum.keys import KEY, key
from tables.deltalog.vacuum.versions import Span, within
from tables.storage import stores

COMMANDS = "org.apache.spark.sql.delta.commands"
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
SETTINGS = {
    # Otherwise Delta ignores every retention but 0, and takes the table's own.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
    # By default Delta logs no vacuum on object stores: Levee couldn't tell its own run.
    "spark.databricks.delta.vacuum.logging.enabled": "true",
    CHECK: "true",
}
NOTHING = "None of the files that were approved is left to delete: nothing was committed."
ASKED = 10_000  # files of a lite vacuum that are asked for one by one; of more, their directories are listed


def preview_vacuum(session: SparkSession, command: Vacuum, version: int | None, report: Report) -> Deletable:
    """What the run would delete, from the log and a listing of the directory. Raises CommandRefused."""
    order = PlanOrder(command.path, command.retention_hours, command.lite, _now_ms(), version)
    with kept(command.path):
        return measured(planned(order, report), order)


def run_vacuum(
    session: SparkSession, command: Vacuum, preview: Mapping[str, Any], checked: Checked, report: Report
) -> Result:
    """Deletes the files that the preview names, and returns the commit of its end.

    Raises CommandRefused (`stale`, `outside_roots`) before any change and DirectorySwapped after one; Delta's refusals pass through.
    """
    directory = judged(command.path)
    with keeping(directory.check):
        head = started(session, directory, checked)
    plan = approved_plan(command, preview, report)
    if not plan.files and not plan.directories:
        report.log(NOTHING)
        return Result(version=None, operation=None, no_op=True, details={"text": NOTHING})
    table = table_at(session, directory, None)
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    # The clock of the worker that made the preview may be ahead of this one's.
    now_ms = max(_now_ms(), int(preview["planned_at_ms"]))
    hours = hours_for_delta(plan.cut_ms, now_ms, plan.own)
    if preview.get("class") == "short_retention" and timedelta(hours=hours) < plan.own:
        session.conf.set(CHECK, "false")
    report.stage("deleting files")
    report.point("Spark started")
    # The last check before Delta deletes: since the first one, the path may have become a link out of the root.
    directory.check()
    with changing(directory):
        _delete(session, table, plan, hours, lite=command.lite)
        report.stage("listing files again")
        commits = [commit for commit in commits_after(command.path, head) if is_own(session, commit)]
        report.point("commit visible")
        return _result(command, plan, preview, commits)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _delete(session: SparkSession, table: Any, plan: Plan, hours: int, *, lite: bool) -> None:
    """Delta's command, its clock set so that its cut is the plan's."""
    jvm: Any = session._jvm
    module = getattr(getattr(getattr(jvm, COMMANDS), "VacuumCommand$"), "MODULE$")
    some = jvm.scala.Some
    log = table.deltaLog()
    path = log.dataPath()
    base = path.getFileSystem(log.newDeltaHadoopConf()).makeQualified(path).toString()
    inventory = session.createDataFrame(_inventory(base, plan))
    clock = jvm.org.apache.spark.util.ManualClock(plan.cut_ms + hours * 3_600_000)
    kind = some("LITE" if lite else "FULL")
    empty = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
    module.gc(session._jsparkSession, table, False, some(float(hours)), some(inventory._jdf), kind, empty, clock)


def _inventory(base: str, plan: Plan) -> pa.Table:
    """The files and directories that go, as Delta's own listing would have them (VacuumCommand.INVENTORY_SCHEMA). Delta takes no null: in
    the metric of its start, a size that the log doesn't tell is none."""
    paths = [f"{base}/{path}" for path in (*plan.paths, *plan.directories)]
    none = [0] * len(plan.directories)
    return pa.table(
        {
            "path": pa.array(paths, pa.string()),
            "length": pa.array([*plan.gone["size"].fill_null(0).to_pylist(), *none], pa.int64()),
            "isDir": pa.array([False] * plan.files + [True] * len(none), pa.bool_()),
            "modificationTime": pa.array([*plan.gone["time"].to_pylist(), *none], pa.int64()),
        }
    )


def _result(command: Vacuum, plan: Plan, preview: Mapping[str, Any], commits: Sequence[HistoryCommit]) -> Result:
    """The result, from the commit of the vacuum's end and what is still in storage."""
    start = next((commit for commit in commits if commit.operation == operations.START), None)
    end = commits[-1]
    left, left_bytes = _remaining(command, plan)
    there = len(left)
    files = plan.files - there
    details = {
        "start_version": None if start is None else start.version,
        "files": number_of(end.operationMetrics, "numDeletedFiles") if command.lite else files,
        "bytes": None if command.lite or plan.bytes is None else plan.bytes - left_bytes,
        "remaining": there,
        "proven": there == 0,
        "same_files": plan.digest == preview.get("digest"),
        "versions_lost": [list(span) for span in _lost(plan, left, preview)],
        "text": _text(files, there, lite=command.lite),
    }
    result = recorded(end, details)
    # The end follows the start: whether somebody else's commit came between shows in what the start has read.
    return result if start is None else replace(result, read_version=start.readVersion)


def _lost(plan: Plan, left: pa.Array, preview: Mapping[str, Any]) -> list[Span]:
    """The versions that could be read and now lack a file: of those that the preview saw, none that had lost files before."""
    named = [(first, last) for first, last in preview.get("dying_versions") or ()]
    keys = plan.gone["key"].combine_chunks()
    lost = plan.dying_of(keys.filter(pc.invert(pc.is_in(keys, value_set=left)))) if len(left) else plan.dying
    return within(lost, [*named, (int(preview["measured_at_version"]), plan.version)])


def _remaining(command: Vacuum, plan: Plan) -> tuple[pa.Array, int]:
    """The keys of the plan's files that storage still has, and their bytes (0 of a lite one's that are asked for one by one)."""
    place = stores.tree_at(command.path)
    if command.lite and plan.files <= ASKED:
        top = f"{command.path.rstrip('/')}/"
        missing = set(place.missing([top + path for path in plan.paths]))
        return pa.array([key(path) for path in plan.paths if top + path not in missing], KEY), 0
    wanted = plan.gone["key"].combine_chunks()
    keys, num_bytes = [pa.array([], KEY)], 0
    for batch in still_there(place, {path.rpartition("/")[0] for path in plan.paths}):
        table = batch.table()
        left = table.filter(pc.is_in(table["key"], value_set=wanted))
        keys += left["key"].chunks
        num_bytes += int(pc.sum(left["size"]).as_py() or 0)
    return pa.concat_arrays(keys), num_bytes


def _text(files: int, there: int, *, lite: bool) -> str:
    if there:
        are, them = ("is", "it") if there == 1 else ("are", "them")
        return f"{counted(there, 'file')} that should be gone {are} still in storage: Delta couldn’t delete {them}."
    if lite:
        return "None of the files that the log names as removed is left in storage."
    return f"Levee listed the directory again: {files:,} {'file is' if files == 1 else 'files are'} gone, and none is left."


RUNNER = Runner(run_vacuum, preview_vacuum)
