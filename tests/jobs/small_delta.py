"""Delta tables small enough to be counted by hand, and an engine on them: real commit files, data files of JSON rows.

A row is `{"id": number, "p": text}`; the table is partitioned by `p`. The engine understands the predicates that tests use (comparisons
of `id` and `p` with AND) by an evaluation of its own, so that what Levee's log reader says is held against something else.
"""

from __future__ import annotations

import json
import operator
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.commands.delete.rules import PASSED_OVER, Delete
from jobs.commands.restore.rules import Restore
from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.domain.measures import Matched, Measure, Restorable
from jobs.domain.results import Result

Row = dict[str, Any]
FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long", "nullable": True, "metadata": {}},
    {"name": "p", "type": "string", "nullable": True, "metadata": {}},
]
SCHEMA = {"type": "struct", "fields": FIELDS}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def create(path: Path, rows: list[Row], properties: Mapping[str, str] | None = None, *, writer: int = 2) -> None:
    """Version 0 with one file per partition; `writer` is the protocol's writer version."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "_delta_log").mkdir()
    metadata = {
        "id": f"small-{secrets.token_hex(4)}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": ["p"],
        "configuration": dict(properties or {}),
        "createdTime": 0,
    }
    first: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": writer}},
        {"metaData": metadata},
    ]
    commit(path, "WRITE", [*first, *_adds(path, rows)], version=0)


def append(path: Path, rows: list[Row]) -> int:
    """Somebody else's write: one new file per partition."""
    return commit(path, "WRITE", _adds(path, rows))


def append_empty(path: Path, p: str, *, counted: bool = True) -> int:
    """Somebody else's write of a file without rows, as engines write for a task that had none."""
    name = f"p={p}/part-{secrets.token_hex(6)}.json"
    (path / f"p={p}").mkdir(exist_ok=True)
    (path / name).write_text("[]")
    values = {"path": name, "partitionValues": {"p": p}, "size": 2, "modificationTime": 0, "dataChange": True}
    stats = {"stats": json.dumps({"numRecords": 0})} if counted else {}
    return commit(path, "WRITE", [{"add": values | stats}])


def compact(path: Path) -> int:
    """Somebody else's OPTIMIZE: the same rows in other files."""
    actions = [*map(_remove, live(path)), *_adds(path, rows_of(path))]
    quiet = [{name: {**values, "dataChange": False} for name, values in action.items()} for action in actions]
    return commit(path, "OPTIMIZE", quiet)


def rows_of(path: Path, version: int | None = None) -> list[Row]:
    """The table's rows, in order."""
    found = [row for file in live(path, version) for row in _read(path, file)]
    return sorted(found, key=lambda row: (row["id"], row["p"]))


def head(path: Path) -> int:
    return max(int(p.stem) for p in (path / "_delta_log").glob("*.json"))


def live(path: Path, version: int | None = None) -> list[str]:
    """Live files, by replaying the log."""
    files: dict[str, None] = {}
    for number in range((head(path) if version is None else version) + 1):
        for line in (path / "_delta_log" / f"{number:020d}.json").read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                files[action["add"]["path"]] = None
            if "remove" in action:
                files.pop(action["remove"]["path"])
    return list(files)


def commit(
    path: Path, operation: str, actions: list[dict[str, Any]], *, version: int | None = None, **info: Any
) -> int:
    number = head(path) + 1 if version is None else version
    said = {"timestamp": int(time.time() * 1000), "operation": operation, "operationParameters": {}}
    read = {"readVersion": number - 1} if number else {}
    lines = [{"commitInfo": said | {"operationMetrics": {}} | read | info}, *actions]
    with (path / "_delta_log" / f"{number:020d}.json").open("x") as file:
        file.write("\n".join(map(json.dumps, lines)))
    return number


def reshape(path: Path, schema: Mapping[str, Any]) -> int:
    """Somebody else's change of the schema alone."""
    first = (path / "_delta_log" / f"{0:020d}.json").read_text().splitlines()
    [metadata] = [action["metaData"] for action in map(json.loads, first) if "metaData" in action]
    return commit(path, "CHANGE COLUMN", [{"metaData": metadata | {"schemaString": json.dumps(schema)}}])


def _adds(path: Path, rows: list[Row]) -> list[dict[str, Any]]:
    return [_add(path, p, [row for row in rows if row["p"] == p]) for p in sorted({row["p"] for row in rows})]


def _add(path: Path, p: str, rows: list[Row]) -> dict[str, Any]:
    name = f"p={p}/part-{secrets.token_hex(6)}.json"
    (path / f"p={p}").mkdir(exist_ok=True)
    (path / name).write_text(json.dumps(rows))
    ids = [row["id"] for row in rows]
    stats = {
        "numRecords": len(rows),
        "minValues": {"id": min(ids)},
        "maxValues": {"id": max(ids)},
        "nullCount": {"id": 0},
    }
    size = (path / name).stat().st_size
    values = {"path": name, "partitionValues": {"p": p}, "size": size, "modificationTime": 0, "dataChange": True}
    return {"add": values | {"stats": json.dumps(stats)}}


def _remove(name: str) -> dict[str, Any]:
    return {"remove": {"path": name, "deletionTimestamp": 0, "dataChange": True}}


def _read(path: Path, name: str) -> list[Row]:
    found: list[Row] = json.loads((path / name).read_text())
    return found


def matches(tree: Mapping[str, Any] | None, row: Row) -> bool:
    """The tree as it is stored, evaluated on one row."""
    if tree is None:
        return True
    if tree["node"] == "and":
        return all(matches(term, row) for term in tree["terms"])
    value = tree["right"]["value"]
    column = tree["left"]["path"][0]
    return _COMPARE[tree["operator"]](row[column], int(value) if column == "id" else value)


def _takes_whole(tree: Mapping[str, Any] | None, name: str) -> bool:
    """Whether a delete takes the file by its partition alone."""
    if tree is not None and '"id"' in json.dumps(tree):
        return False
    return matches(tree, {"p": name.split("/")[0].removeprefix("p=")})


def _metrics(actions: list[dict[str, Any]], gone: int) -> dict[str, str]:
    """What a delete records: of files that go whole, without any written again, their number too."""
    told = {"numDeletedRows": str(gone)}
    if any("add" in action for action in actions):
        return told
    return told | {"numRemovedFiles": str(sum("remove" in action for action in actions))}


class SmallEngine:
    """Deletes and restores on small tables. `before_commit` is called just before a commit is made."""

    def __init__(self) -> None:
        self.before_commit: Callable[[], None] = lambda: None
        self.ended_hard = threading.Event()
        self.measured = 0

    def preview(self, command: Any, version: int | None, marks: Marks, report: Report) -> Measure:
        self.measured += 1
        path = Path(command.path)
        if isinstance(command, Restore):
            missing = tuple(f for f in live(path, command.version) if not (path / f).exists())
            return Restorable(command.version, missing, len(missing), None, None)
        assert isinstance(command, Delete)
        assert version is not None
        files = {f"{path}/{name}": self._matching(command, path, name) for name in live(path, version)}
        found = {name: rows for name, rows in files.items() if rows}
        every = [row for rows in found.values() for row in rows]
        digest = str(sum(hash((row["id"], row["p"])) for row in every))
        counts = {name: len(rows) for name, rows in found.items()}
        return Matched(version, len(every), len(rows_of(path, version)), digest, counts)

    def _matching(self, command: Delete, path: Path, name: str) -> list[Row]:
        return [row for row in _read(path, name) if matches(command.tree, row)]

    def run(self, command: Any, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report) -> Result:
        path = Path(command.path)
        read = head(path)
        self.before_commit()
        if checked.strict and head(path) != checked.version:
            raise EngineFailed(EngineFailure("DELTA_MAX_COMMIT_RETRIES_EXCEEDED", "40000", "it has moved"))
        actions, gone = self._actions(command, path)
        if not actions:
            return Result(version=None, operation=None, no_op=True, details={"text": "No row matched."})
        mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
        operation = type(command).__name__.upper()
        metrics = _metrics(actions, gone) if isinstance(command, Delete) else {}
        told = {"version": str(command.version)} if isinstance(command, Restore) else {}
        version = commit(
            path, operation, actions,
            operationParameters=told, operationMetrics=metrics, userMetadata=mark, readVersion=min(read, head(path)),
        )  # fmt: skip
        return Result(version, operation, {}, metrics, gone, read_version=read)

    def _actions(self, command: Any, path: Path) -> tuple[list[dict[str, Any]], int]:
        if isinstance(command, Restore):
            return self._restored(command, path), 0
        actions: list[dict[str, Any]] = []
        gone = 0
        for name in live(path):
            rows = _read(path, name)
            kept = [row for row in rows if not matches(command.tree, row)]
            if len(kept) < len(rows) or (not rows and _takes_whole(command.tree, name)):
                gone += len(rows) - len(kept)
                actions += [_remove(name), *_adds(path, kept)]
        return actions, gone

    def _restored(self, command: Restore, path: Path) -> list[dict[str, Any]]:
        now, then = set(live(path)), live(path, command.version)
        back = [self._added(path, name) for name in then if name not in now]
        return [*(_remove(name) for name in now - set(then)), *back]

    def _added(self, path: Path, name: str) -> dict[str, Any]:
        for log in sorted((path / "_delta_log").glob("*.json")):
            for line in log.read_text().splitlines():
                action: dict[str, Any] = json.loads(line)
                if action.get("add", {}).get("path") == name:
                    return action
        raise AssertionError(name)

    def rehearse(
        self, command: Any, preview: Mapping[str, Any], version: int, marks: Marks, report: Report
    ) -> dict[str, Any]:
        """On a copy: small tables have no clones."""
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(command.path, f"{folder}/clone")
            result = self.run(replace(command, path=str(copy)), preview, Checked(version), marks, report)
            rows = len(rows_of(Path(copy)))
        return {"operation_metrics": dict(result.operation_metrics), "rows_after": rows, "seconds": 0.1}

    def read(self, kind: str, question: dict[str, Any], marks: Marks, report: Report) -> dict[str, Any]:
        if kind == PASSED_OVER:
            rows = [row for name in question[kind] for row in _read(Path(question["path"]), name)]
            return {"files": len(question[kind]), "rows": sum(matches(question["tree"], row) for row in rows)}
        return {"kind": kind, **question}

    def cancel(self, tag: str) -> None: ...

    def progress(self, tag: str) -> tuple[int, int] | None:
        return None

    def answers(self) -> None: ...

    def busy(self, tag: str) -> bool:
        return False

    def has_executors(self) -> bool:
        return True

    def end_hard(self) -> None:
        self.ended_hard.set()
