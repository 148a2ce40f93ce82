"""Rehearses a command: runs it for real on a shallow clone of its table, in a place of Levee's own that is removed afterwards.

A shallow clone has a log of its own, which names the table's data files where they are. What the command writes goes below the clone;
nothing of the table is written. Rules: Delta 4.4.0, CloneTableCommand.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.domain.engine import Checked, Report
from jobs.domain.errors import CommandRefused, DirectorySwapped, EngineFailed, EngineFailure, Refusal
from jobs.engine.directory import Directory, judged, kept
from jobs.engine.inside import OwnClone, allowing
from jobs.engine.measuring import measure
from jobs.engine.quoting import path_table
from jobs.engine.runner import Rehearsal, Run, Runner
from jobs.engine.versions import rows_of, table_at
from jobs.engine.walk import DELTA_LOG

FOLDER = "rehearsals"
# What a run may write beyond the bytes that its preview counts: vectors, checkpoints, a file's own growth.
SPARE_BYTES = 1 << 30
NO_SPACE = (
    "The rehearsal could write {needed:.1f} GiB into Levee’s home, where {free:.1f} GiB are free. Request it again without a rehearsal, or"
    " less at once."
)
SWAPPED = "The rehearsal was stopped: its private place was changed meanwhile. {why}"

# A worker makes several previews at once, each in a thread of its own: none may sweep away where another one rehearses.
_SWEEPING = threading.Lock()
_in_use: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Rehearsing:
    """A command of a table, the version that its preview measured, and where it is rehearsed: an empty directory."""

    command: Any
    preview: Mapping[str, Any]
    version: int
    place: Path


def rehearse(session: SparkSession, runner: Runner, asked: Rehearsing, report: Report) -> dict[str, Any]:
    """What the run did on the clone: `{operation_metrics, rows_after, seconds, details?}`.

    `operation_metrics` are texts as Delta recorded them, none where it committed nothing; `rows_after` are the rows that Spark reads there
    afterwards, `seconds` the run's alone, `details` what else the command tells. Raises as the command's run does, EngineFailed too for one
    that fails between two of its commits; CommandRefused `rehearsal` if the place has too little space
    or was changed, `outside_roots` if the table's directory was swapped meanwhile: the clone's log names its files until the end.
    """
    if runner.rehearsal is None:
        raise TypeError(f"a {asked.command.kind} can't be rehearsed")
    _refuse_full(asked)
    place = Path(os.path.realpath(asked.place))  # the checks of a table's path allow no link on the way
    with kept(asked.command.path) as source:
        report.stage("rehearsing: cloning the table")
        clone = _cloned(session, source, asked.version, place, runner.rehearsal.older(asked.command))
        command = runner.rehearsal.on_clone(asked.command, clone.path)
        try:
            with allowing(clone):
                return _played(session, runner.run, runner.rehearsal, command, asked.preview, report)
        except DirectorySwapped as swapped:
            raise CommandRefused(
                Refusal("rehearsal", SWAPPED.format(why=swapped), remedy="Request it again.")
            ) from swapped


@contextmanager
def fresh_place(scratch: Path, tag: str) -> Iterator[Path]:
    """An empty directory for the run of this tag, which is removed afterwards; nothing of earlier rehearsals is left beside it.

    A task that was cancelled may have written after its own rehearsal's place was removed.
    """
    place = scratch / FOLDER / f"{tag}-{uuid.uuid4().hex[:8]}"
    with _SWEEPING:
        _sweep(place.parent)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.mkdir(mode=0o700)
        _in_use.add(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        _in_use.discard(place)


def sweep(scratch: Path) -> None:
    """Removes what rehearsals of this scratch directory left behind, but for the places that are in use. Called before its JVM works."""
    with _SWEEPING:
        _sweep(scratch / FOLDER)


def _sweep(folder: Path) -> None:
    with suppress(OSError):  # it isn't there, or stays
        for place in list(folder.iterdir()):
            if place not in _in_use:
                shutil.rmtree(place, ignore_errors=True)
        folder.rmdir()


def _played(
    session: SparkSession, run: Run, rehearsal: Rehearsal, command: Any, preview: Mapping[str, Any], report: Report
) -> dict[str, Any]:
    directory = judged(command.path)
    head = int(table_at(session, directory, None).initialSnapshot().version())
    began = time.monotonic()
    result = run(session, command, preview, Checked(head), _Aside(report))
    seconds = time.monotonic() - began
    if failure := result.details.get("failure"):
        raise EngineFailed(EngineFailure.from_json(failure))
    report.stage("rehearsing: reading rows")
    rows = measure(rows_of(session, table_at(session, directory, None)), hashed=False).rows
    # Without the run's own sentences: they would name the clone's versions.
    told = rehearsal.told(result)
    found = {"operation_metrics": dict(result.operation_metrics), "rows_after": rows, "seconds": round(seconds, 1)}
    return found | ({"details": dict(told)} if told else {})


class _Aside:
    """The report of a run that isn't the job's: its stages are named as a rehearsal's, its points aren't the run's."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def stage(self, name: str) -> None:
        self._report.stage(f"rehearsing: {name}")

    def log(self, text: str) -> None:
        self._report.log(f"Rehearsal: {text}")

    def point(self, name: str) -> None: ...


def _refuse_full(asked: Rehearsing) -> None:
    known = (asked.preview.get(name) for name in ("bytes_in", "bytes_to_rewrite"))
    needed = max((size for size in known if isinstance(size, int)), default=0) + SPARE_BYTES
    free = shutil.disk_usage(asked.place).free
    if free < needed:
        text = NO_SPACE.format(needed=needed / (1 << 30), free=free / (1 << 30))
        raise CommandRefused(Refusal("rehearsal", text, remedy="Free some space on its disk, or do without."))


def _cloned(session: SparkSession, source: Directory, version: int, place: Path, older: int | None) -> OwnClone:
    """A clone of the measured version; with `older`, of both, so that its version 0 is the older and 1 the measured one."""
    uri = table_at(session, source, version).deltaLog().dataPath().toUri().toString()
    newest = _shallow(session, source, version, place / "newest")
    if older is None:
        return OwnClone(str(newest), source.path, uri, source.check)
    _stacked(_shallow(session, source, older, place / "older"), newest, place / "both")
    return OwnClone(str(place / "both"), source.path, uri, source.check)


def _shallow(session: SparkSession, source: Directory, version: int, target: Path) -> Path:
    table, at = path_table("delta", source.path), int(version)
    source.check()
    session.sql(f"CREATE TABLE {path_table('delta', str(target))} SHALLOW CLONE {table} VERSION AS OF {at}").collect()
    return target


def _stacked(older: Path, newest: Path, target: Path) -> None:
    """A table of two versions from two clones of one commit each: the second version goes from the older's files to the newest's.

    Delta clones into empty tables only, and a clone has no history; a restore needs one.
    """
    before, after = _actions(older), _actions(newest)
    had, has = _files(before), _files(after)
    metadata = next(action["metaData"] for action in before if "metaData" in action)
    rest = [_same_table(action, metadata["id"]) for action in after if "add" not in action]
    gone = [_removal(add) for key, add in had.items() if key not in has]
    come = [{"add": add} for key, add in has.items() if key not in had]
    log = target / DELTA_LOG
    log.mkdir(parents=True)
    _write(log / f"{0:020}.json", before)
    _write(log / f"{1:020}.json", [*rest, *gone, *come])


def _actions(clone: Path) -> list[dict[str, Any]]:
    with (clone / DELTA_LOG / f"{0:020}.json").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _files(actions: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """A commit's files by what makes one the same in Delta's replay: its path and its deletion vector."""
    adds = [action["add"] for action in actions if "add" in action]
    vectors = [add.get("deletionVector") or {} for add in adds]
    keys = [tuple(vector.get(name) for name in ("storageType", "pathOrInlineDv", "offset")) for vector in vectors]
    return {(add["path"], *key): add for add, key in zip(adds, keys, strict=True)}


def _same_table(action: dict[str, Any], table_id: str) -> dict[str, Any]:
    return {"metaData": {**action["metaData"], "id": table_id}} if "metaData" in action else action


def _removal(add: Mapping[str, Any]) -> dict[str, Any]:
    same = {name: add[name] for name in ("path", "partitionValues", "size", "deletionVector") if name in add}
    now = int(time.time() * 1000)
    return {"remove": {**same, "deletionTimestamp": now, "dataChange": True, "extendedFileMetadata": True}}


def _write(file: Path, actions: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(action, ensure_ascii=False) + "\n" for action in actions), encoding="utf-8")
