"""A run held against its prediction: every metric of its command, what was expected of it, and why the two differ where they do.

Rules: Delta 4.4.0, DeleteCommand, RestoreTableCommand and DeltaOperations. Delta writes metrics as texts; one that it left out of
the log is unknown, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.domain.delete import branch_of
from jobs.domain.results import Result

Preview = Mapping[str, Any]


class Verdict(StrEnum):
    SAME = "same"
    WITHIN = "within"  # what was predicted was a bound, and it holds
    DIFFERENT = "different"
    UNKNOWN = "unknown"  # not recorded, so nothing can be said
    MEASURED = "measured"  # nothing was predicted


class Unit(StrEnum):
    COUNT = "count"
    BYTES = "bytes"
    MILLISECONDS = "ms"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the preview said of a metric: a value, or a bound (`most`, `least`); None where it said nothing, for the reason in `why`."""

    value: int | str | None = None
    most: int | None = None
    least: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One metric: what was expected, what Delta recorded (None: not recorded), and a sentence where that needs one."""

    name: str
    label: str
    unit: Unit
    expected: Expected
    actual: int | str | None
    verdict: Verdict
    why: str


NOT_RECORDED = "Delta left it out of the log."
NO_COUNTS = "Delta leaves it out where a file doesn’t say how many rows it holds."
OUT_OF_LOG = "Delta measures it, but keeps it out of the log."
BY_SPARK = "Spark decides how many files it writes."
NO_RESTORED_ROWS = "Delta records no rows for a restore; Levee reads them itself."
BRANCHES = {
    "rewrite": "rewrite files",
    "metadata_only": "log only",
    "deletion_vectors": "deletion vectors",
    "nothing": "nothing matches",
}
# What DELETE measures and no commit holds.
UNLOGGED = {
    "numFilesBeforeSkipping": "Files before skipping",
    "numFilesAfterSkipping": "Files after skipping",
    "numPartitionsAfterSkipping": "Partitions after skipping",
    "numPartitionsAddedTo": "Partitions added to",
    "numPartitionsRemovedFrom": "Partitions removed from",
    "numTouchedRows": "Rows in the files touched",
    "changeFileBytes": "Bytes of change files",
}


def compare(command: str, preview: Preview, result: Result) -> list[Line]:
    """Every line of the comparison; empty for a command without predictions and for a run that committed nothing."""
    if result.no_op or result.version is None or command not in _LINES:
        return []
    return list(_LINES[command](preview, result))


def differ(lines: list[Line]) -> list[Line]:
    """The lines whose prediction didn't hold."""
    return [line for line in lines if line.verdict is Verdict.DIFFERENT]


def has_moved(preview: Preview, result: Result) -> bool:
    """Whether the run began on another version than the preview measured."""
    measured = preview.get("measured_at_version")
    return None not in (measured, result.read_version) and measured != result.read_version


def _of_delete(preview: Preview, result: Result) -> Iterator[Line]:
    metrics = result.operation_metrics
    moved = has_moved(preview, result)
    branch = branch_of(metrics)
    yield _branch_line(preview, branch, moved)
    rows = result.num_affected_rows
    yield _line("num_affected_rows", "Rows deleted", Unit.COUNT, _rows(preview), rows, moved, NO_COUNTS)
    touched = _sum(_number(metrics, "numRemovedFiles"), _number(metrics, "numDeletionVectorsAdded"), branch)
    yield _line("files touched", "Files touched", Unit.COUNT, _files(preview), touched, moved)
    for name, (label, unit, expect) in _DELETE.items():
        yield _line(name, label, unit, expect(preview), _number(metrics, name), moved, _why_missing(name))
    for name, label in UNLOGGED.items():
        yield Line(name, label, Unit.COUNT, Expected(), None, Verdict.UNKNOWN, OUT_OF_LOG)


def _branch_line(preview: Preview, branch: str | None, moved: bool) -> Line:
    said = BRANCHES.get(str(preview.get("branch")))
    expected = Expected(said) if said else Expected(why="The preview named no branch.")
    actual = BRANCHES.get(branch or "")
    return _line("branch", "Way", Unit.WORD, expected, actual, moved, "The metrics don’t tell which way it was.")


def _rows(preview: Preview) -> Expected:
    rows = preview.get("rows_matched")
    if rows is None:
        return Expected(why="The rows could not be counted before.")
    return Expected(rows) if preview.get("rows_matched_exact") else Expected(most=rows, least=preview.get("rows_least"))


def _files(preview: Preview) -> Expected:
    files = preview.get("files_matched")
    if files is None:
        return Expected(why="The files were not counted before.")
    return Expected(files) if _is_exact(preview) else Expected(most=files)


def _is_exact(preview: Preview) -> bool:
    return preview.get("speed") == "spark" or preview.get("branch") == "metadata_only"


def _sum(removed: int | None, marked: int | None, branch: str | None) -> int | None:
    """Files removed and files marked: one that was marked before and is marked again counts among the added vectors."""
    if branch != "deletion_vectors":
        return removed
    return None if removed is None or marked is None else removed + marked


def _in(preview: Preview, **by_branch: Expected) -> Expected:
    """What is expected in the branch that was predicted."""
    return by_branch.get(str(preview.get("branch")), Expected(0))


def _removed_files(preview: Preview) -> Expected:
    files = _files(preview)
    vectors = Expected(most=preview.get("files_matched"), why="Only files that lose every row are removed.")
    return _in(preview, rewrite=files, metadata_only=files, deletion_vectors=vectors)


def _added_files(preview: Preview) -> Expected:
    return _in(preview, rewrite=Expected(why=BY_SPARK))


def _copied_rows(preview: Preview) -> Expected:
    copied = preview.get("rows_copied")
    known = Expected(copied) if copied is not None else Expected(why="Some files don’t say how many rows they hold.")
    return _in(preview, rewrite=known)


def _change_files(preview: Preview) -> Expected:
    """A rewrite writes them where the change feed is on; readers derive them in the other branches."""
    codes = {consequence.get("code") for consequence in preview.get("consequences", ())}
    return _in(preview, rewrite=Expected(least=1, why=BY_SPARK) if "change_feed" in codes else Expected(0))


def _removed_bytes(preview: Preview) -> Expected:
    """With deletion vectors Delta counts none, even for a file that goes as a whole."""
    return _in(preview, rewrite=_bytes(preview, "bytes_to_rewrite"), metadata_only=_bytes(preview, "bytes_matched"))


def _bytes(preview: Preview, name: str) -> Expected:
    size = preview.get(name)
    if size is None:
        return Expected(why="Some files don’t say how large they are.")
    return Expected(size) if _is_exact(preview) else Expected(most=size)


def _added_bytes(preview: Preview) -> Expected:
    return _in(preview, rewrite=Expected(why="It depends on how well the files that Spark writes compress."))


def _added_vectors(preview: Preview) -> Expected:
    return _in(preview, deletion_vectors=Expected(most=preview.get("files_matched")))


def _other_vectors(preview: Preview) -> Expected:
    return Expected(why="It depends on which files were marked before.")


def _time(preview: Preview) -> Expected:
    return Expected(why="Times aren’t predicted.")


Expect = Callable[[Preview], Expected]
_DELETE: dict[str, tuple[str, Unit, Expect]] = {
    "numRemovedFiles": ("Files removed", Unit.COUNT, _removed_files),
    "numAddedFiles": ("Files added", Unit.COUNT, _added_files),
    "numCopiedRows": ("Rows copied", Unit.COUNT, _copied_rows),
    "numAddedChangeFiles": ("Change files added", Unit.COUNT, _change_files),
    "numRemovedBytes": ("Bytes removed", Unit.BYTES, _removed_bytes),
    "numAddedBytes": ("Bytes added", Unit.BYTES, _added_bytes),
    "numDeletionVectorsAdded": ("Deletion vectors added", Unit.COUNT, _added_vectors),
    "numDeletionVectorsRemoved": ("Deletion vectors removed", Unit.COUNT, _other_vectors),
    "numDeletionVectorsUpdated": ("Deletion vectors updated", Unit.COUNT, _other_vectors),
    "executionTimeMs": ("Time in all", Unit.MILLISECONDS, _time),
    "scanTimeMs": ("Time to find the files", Unit.MILLISECONDS, _time),
    "rewriteTimeMs": ("Time to rewrite", Unit.MILLISECONDS, _time),
}
_COUNTED = frozenset({"numDeletedRows", "numCopiedRows", "numAddedFiles"})


def _why_missing(name: str) -> str:
    return NO_COUNTS if name in _COUNTED else NOT_RECORDED


def _of_restore(preview: Preview, result: Result) -> Iterator[Line]:
    metrics, moved = result.operation_metrics, has_moved(preview, result)
    yield _rows_read(preview, result, moved)
    for name, (label, unit, field) in _RESTORE.items():
        value = preview.get(field) if field else None
        expected = Expected(value) if value is not None else Expected(why="It wasn’t predicted.")
        yield _line(name, label, unit, expected, _number(metrics, name), moved)
    for field, label in (("rows_back", "Rows that came back"), ("rows_gone", "Rows that went")):
        yield Line(
            field, label, Unit.COUNT, Expected(preview.get(field)), None, Verdict.UNKNOWN, NO_RESTORED_ROWS
        )  # fmt: skip


def _rows_read(preview: Preview, result: Result, moved: bool) -> Line:
    """The proof of a restore: all rows, read again."""
    rows = preview.get("rows_to")
    expected = Expected(rows) if rows is not None else Expected(why="They weren’t read before.")
    line = _line("rows", "Rows read again", Unit.COUNT, expected, result.details.get("rows"), moved)
    if line.verdict is not Verdict.SAME or result.details.get("proven") is not False:
        return line
    return Line(line.name, line.label, line.unit, expected, line.actual, Verdict.DIFFERENT, result.details["text"])


_RESTORE: dict[str, tuple[str, Unit, str | None]] = {
    "numRestoredFiles": ("Files that came back", Unit.COUNT, "files_back"),
    "numRemovedFiles": ("Files that went", Unit.COUNT, "files_gone"),
    "restoredFilesSize": ("Bytes that came back", Unit.BYTES, "bytes_back"),
    "removedFilesSize": ("Bytes that went", Unit.BYTES, "bytes_gone"),
    "numOfFilesAfterRestore": ("Files afterwards", Unit.COUNT, None),
    "tableSizeAfterRestore": ("Size afterwards", Unit.BYTES, None),
}


def _line(
    name: str,
    label: str,
    unit: Unit,
    expected: Expected,
    actual: int | str | None,
    moved: bool,
    missing: str = NOT_RECORDED,
) -> Line:
    verdict = _verdict(expected, actual)
    why = missing if verdict is Verdict.UNKNOWN else _why(expected, verdict, moved)
    return Line(name, label, unit, expected, actual, verdict, why)


def _verdict(expected: Expected, actual: int | str | None) -> Verdict:
    if actual is None:
        return Verdict.UNKNOWN
    if expected.value is not None:
        return Verdict.SAME if actual == expected.value else Verdict.DIFFERENT
    if expected.most is None and expected.least is None:
        return Verdict.MEASURED
    return Verdict.WITHIN if _is_within(expected, actual) else Verdict.DIFFERENT


def _is_within(expected: Expected, actual: int | str) -> bool:
    if isinstance(actual, str):
        return False
    return (expected.least is None or actual >= expected.least) and (expected.most is None or actual <= expected.most)


def _why(expected: Expected, verdict: Verdict, moved: bool) -> str:
    if verdict is not Verdict.DIFFERENT:
        return expected.why
    if moved:
        return "The table had moved on when the run began: what was measured stood in other files."
    return "Nothing that Levee knows explains it; look at the commit."


def _number(metrics: Mapping[str, str], name: str) -> int | None:
    text = metrics.get(name) or ""
    return int(text) if text.isascii() and text.isdigit() else None


_LINES: dict[str, Callable[[Preview, Result], Iterator[Line]]] = {"delete": _of_delete, "restore": _of_restore}
