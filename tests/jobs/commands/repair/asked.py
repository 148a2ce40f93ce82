"""What tests of a repair share: a small table, files that are taken away from it, and an engine that takes them out of its log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.domain.engine import Checked, Marks, Report
from jobs.domain.errors import EngineFailed, EngineFailure
from jobs.domain.results import Result
from tables.deltalog.replay.absent_files import removed_by
from tests.jobs import small_delta
from tests.jobs.small_delta import SmallEngine

VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 1,
    "sizeInBytes": 36,
    "cardinality": 2,
}
WITH_VECTORS = {
    "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"],
}  # fmt: skip


def files_of(place: Path, country: str) -> list[str]:
    """The log's names of the live files of a partition."""
    return [name for name in small_delta.live(place) if name.startswith(f"p={country}/")]


def take(place: Path, country: str, at: int = 0) -> str:
    """A file of the partition goes from storage, and stays in the log: its name there."""
    name = files_of(place, country)[at]
    (place / name).unlink()
    return name


def hide(place: Path, name: str, vector: Mapping[str, Any] = VECTOR) -> None:
    """The file gets a deletion vector, whose own file isn't in storage."""
    logs = sorted((place / "_delta_log").glob("*.json"))
    adds = [line["add"] for log in logs for line in map(json.loads, log.read_text().splitlines()) if "add" in line]
    [add] = [add for add in adds if add["path"] == name]
    remove = {"path": name, "deletionTimestamp": 0, "dataChange": True}
    actions = [{"protocol": WITH_VECTORS}, {"remove": remove}, {"add": add | {"deletionVector": dict(vector)}}]
    small_delta.commit(place, "DELETE", actions)


def adds_of(place: Path) -> dict[str, Any]:
    """The last add of each path."""
    logs = sorted((place / "_delta_log").glob("*.json"))
    lines = (json.loads(line) for log in logs for line in log.read_text().splitlines())
    return {line["add"]["path"]: line["add"] for line in lines if "add" in line}


class Repairing(SmallEngine):
    """Commits what the preview names, as Delta writes removals. `fails`: after the commit, before it has read that."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.fails = fails

    def run(self, command: Any, preview: Mapping[str, Any], checked: Checked, marks: Marks, report: Report) -> Result:
        place, read = Path(command.path), small_delta.head(Path(command.path))
        kept = ("path", "partitionValues", "size", "stats", "deletionVector")
        adds = [adds_of(place)[name] for name in preview["sample"]]
        removes = [
            {
                "remove": {
                    **{name: add[name] for name in kept if name in add},
                    "deletionTimestamp": 0,
                    "dataChange": True,
                }
            }
            for add in adds
        ]
        mark = json.dumps({"job": marks.job, "attempt": marks.attempt, "digest": marks.digest})
        version = small_delta.commit(place, "FSCK", removes, userMetadata=mark)
        if self.fails:
            raise EngineFailed(EngineFailure(None, None, "a hook failed"))
        removed = removed_by(command.path, version)
        assert removed is not None
        details = {"text": "Took them out.", "files": len(removed.paths), "bytes": removed.bytes, "rows": removed.rows}
        return Result(version, "FSCK", num_affected_rows=removed.rows, read_version=read, details=details)
