"""What the first step of a stream's form shows of its source: directories to choose from, and what Spark has read in the files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from console.accounts.models import Person
from console.audit.actions import Action
from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.stream_round.rules import FILE_FORMATS
from jobs.lifecycle.worker_states import worker_state
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.reads.stream_source import check_source, source_read
from jobs.streams.source_schema import schema_text
from jobs.targets import directories
from jobs.web.reads import row_cells
from jobs.web.streams import columns

READ, BROWSING = "read", "browsing"
PATHS, ROOTS = ("path", "target_path"), "roots"
ENDINGS = {
    "parquet": "parquet", "json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "tsv": "csv", "txt": "text", "log": "text",
}  # fmt: skip
FORMATS = set(FILE_FORMATS)


@dataclass(frozen=True, slots=True)
class Picker:
    """The directories to choose from for one field: those in `here`, or the roots; `error` where it can't be listed."""

    field: str
    here: directories.Below | None
    directories: list[str]
    error: str = ""

    @property
    def choices(self) -> list[tuple[str, str]]:
        """(path, what its button says)."""
        if self.here is None:
            return [(path, path) for path in self.directories]
        return [(path, path.removeprefix(self.here.path).lstrip("/")) for path in self.directories]


def picker_of(actor: Actor, person: Person, data: QueryDict) -> Picker | None:
    """The choice that is open; None if there is none. Records a refusal, as the stream's own check would."""
    field, _, place = data.get(BROWSING, "").partition(":")
    if field not in PATHS:
        return None
    path = data.get(field, "").strip()
    if not path or place == ROOTS:
        return Picker(field, None, directories.tops(person))
    try:
        here = directories.below(actor, path, Action.STREAM_CREATE)
    except Problem as problem:
        return Picker(field, None, directories.tops(person), problem.detail)
    return Picker(field, here, here.directories)


def choose(data: QueryDict, field: str, path: str) -> None:
    """Takes a directory from the choice, which goes on below it."""
    if field in PATHS:
        data[field], data[BROWSING] = path, field


def take_format(picker: Picker | None, data: QueryDict) -> None:
    """Makes the format of most of the files in the source's directory, once it is chosen, the form's."""
    if picker is None or picker.field != "path" or picker.here is None:
        return
    known = [ENDINGS[ending] for ending in picker.here.endings if ending in ENDINGS]
    if known and known[0] in FORMATS:
        data["format"] = known[0]


def take_columns(read: Read | None, data: QueryDict, *, replaces: bool) -> None:
    """Makes the columns that Spark has found the form's own; without `replaces` only where it has none yet."""
    has_some = bool(data.get("schema", "").strip() or columns.typed(data))
    if read is None or read.answer is None or (has_some and not replaces):
        return
    found = columns.inferred(read.answer["schema"])
    if len(found) > columns.MOST:
        data[columns.AS_TEXT] = "on"
        data["schema"] = schema_text(found)
    else:
        data.pop(columns.AS_TEXT, None)
        columns.put(data, found)


def read_of(actor: Actor, person: Person, data: QueryDict) -> Read | None:
    """The read of the form's directory that was asked for from this form, while it is kept and the person may see the files' rows."""
    read = source_read(person, data.get(READ, ""), data.get("path", "").strip().rstrip("/"))
    if read is None:
        return None
    try:
        check_source(actor, read)
    except Problem:
        return None
    return read


def read_context(read: Read | None, data: QueryDict) -> dict[str, Any]:
    """What the page shows of the read."""
    if read is None:
        return {"read": None}
    answer = read.answer
    context: dict[str, Any] = {
        "read": read,
        "files": read.question["files"],
        "error": queue.as_error(read),
        "spark_state": worker_state(Worker.Kind.INTERACTIVE),
    }
    if answer is None:
        return context
    return context | {
        "answer": answer,
        "headings": row_cells.headings(answer),
        "lines": row_cells.lines(answer),
        "found_text": schema_text(columns.inferred(answer["schema"])),
        "is_of_files": schema_text(columns.inferred(answer["schema"])) == data.get("schema", ""),
    }
