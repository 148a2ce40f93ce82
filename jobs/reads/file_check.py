"""Checks of a table's files: the light worker asks storage for each live file, and compares its size with the log's.

Nothing is opened. What is found stays with the table: in its health for the newest version, in its reach for an older one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from console.accounts.models import Person
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from jobs.domain.errors import CommandRefused
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.targets import places
from jobs.targets.problems import problem_of_refused
from jobs.targets.stored_files import most_at, spread
from jobs.targets.subject import Subject, subject_of
from tables.catalog.rights import person_of
from tables.deltalog.read.data_files import Unlike, below, unlike
from tables.deltalog.replay.log import NoTable, open_log
from tables.deltalog.replay.needed_files import live_names, vector_names
from tables.deltalog.state.snapshot import Snapshot
from tables.models import Table
from tables.record import file_check
from tables.storage.store import StorageError
from tables.storage.stores import files_at
from tables.sync import file_checks

KIND = "file_check"
AT_ONCE = 2_000  # files between two looks at the clock, and at whether somebody has stopped the check
SECONDS = 120.0  # that a check takes at most: a light worker has syncs to do, too
MOST = 2  # under way at a time
LISTED = 100  # files that the answer names
OPEN = (Read.State.WAITING, Read.State.RUNNING)

Names = list[tuple[str, int | None]]


def ask(actor: Actor, table: Table, version: int | None = None) -> Read:
    """Queues a check of the newest version's files, or of another one's.

    Raises Problem 403 `outside_roots`, 404 when the directory is gone, 409 `not_delta`, 503 `busy` beside MOST other checks.
    """
    places.check_place(table)
    if not table.is_delta:
        raise Problem(
            409, "not_delta", "A plain parquet directory has no log to compare its files with. Convert it first."
        )
    question = {"table": str(table.pk), "path": table.path, **({} if version is None else {"version": version})}
    with transaction.atomic():
        read = queue.ask(person_of(actor), KIND, Worker.Kind.LIGHT, question, table)
        if _others(read) >= MOST:
            text = (
                f"Levee is already checking the files of {MOST} tables. Wait until one check has ended, then try again."
            )
            raise Problem(503, "busy", text, retry_after=queue.RETRY_AFTER)
        after = {} if version is None else {"version": version}
        record(
            actor, Action.TABLE_CHECK_FILES, ObjectKind.TABLE, table.pk, table.name,
            after=after, table_version=table.version,
        )  # fmt: skip
    return read


def ask_unseen(read: Read, version: int) -> None:
    """Has the files of a version checked that Spark couldn't read for a file that isn't there, for whoever asked for its rows.

    Not asked for by a person, so it waits for no place and the audit has no event of it.
    """
    question = {"table": str(read.table_id), "path": read.question["path"], "version": version}
    queue.ask(read.person, KIND, Worker.Kind.LIGHT, question, read.table)


def _others(read: Read) -> int:
    return Read.objects.filter(kind=KIND, state__in=OPEN, expires_at__gt=Now()).exclude(pk=read.pk).count()


def newest_of(person: Person, table: Table) -> Read | None:
    """The person's last check of the table that isn't over."""
    return (
        Read.objects.filter(kind=KIND, person=person, table=table, expires_at__gt=Now()).order_by("-asked_at").first()
    )


def stop(person: Person, table: Table) -> None:
    """Ends the person's check; a worker that is at it sees that before it asks for more files."""
    text = "You stopped this check. Nothing of it was kept."
    problem = {"status": 409, "code": "stopped", "detail": text, "engine": None}
    mine = Read.objects.filter(kind=KIND, person=person, table=table, state__in=OPEN)
    mine.update(state=Read.State.FAILED, problem=problem, answered_at=Now())


# The light worker's part


@dataclass(frozen=True, slots=True)
class _AskedFiles:
    """How many files were asked for, and which of them aren't as the log says."""

    count: int
    found: list[Unlike]


def check(read: Read) -> dict[str, Any]:
    """Answers a check: `{version, files, asked, outside, missing, missing_vectors, other_size, named: [{path, logged, stored, vector}]}`.

    Files outside the table's directory are never touched: `outside` counts them. Raises Problem 409, 410 `version_gone`, 422.
    """
    try:
        places.check_claimed(str(read.question["path"]))
        subject = subject_of(read.table_id)  # type: ignore[arg-type]  # every check has a table
        version = int(read.question.get("version", subject.version))
        if version == subject.version:
            return _checked(read, subject, subject.snapshot)
        with tempfile.TemporaryDirectory(prefix="levee-check-") as folder:
            return _checked(read, subject, _older(subject, version, Path(folder)))
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None
    except (StorageError, OSError) as error:
        raise Problem(422, "unreadable", f"The table’s files can’t be looked at: {error}.") from None


def _older(subject: Subject, version: int, folder: Path) -> Snapshot:
    try:
        snapshot = open_log(subject.table.path).snapshot(version, folder / "files.arrow")
    except NoTable:
        snapshot = None
    if snapshot is None or not snapshot.complete:
        raise Problem(410, "version_gone", f"The log no longer holds what version {version:,} is rebuilt from.")
    return snapshot


def _checked(read: Read, subject: Subject, snapshot: Snapshot) -> dict[str, Any]:
    location, files = subject.table.path, snapshot.files()
    at = timezone.now()
    names = live_names(files)
    inside = [(path, size) for path, size in names if below(location, path) is not None]
    chosen = sorted((inside[place] for place in spread(len(inside), most_at(location))), key=itemgetter(0))
    asked = _marked(
        _ask_storage(read, location, chosen, len(inside)), {below(location, path) for path in vector_names(files)}
    )
    result = file_check.of_look(snapshot.version, at, len(names), asked.count, asked.found)
    if snapshot.version == subject.version:
        file_checks.keep(subject.table.pk, subject.table.table_id, result)
    else:
        _tell_older(subject, snapshot.version, asked, len(inside))
    return {**result, "outside": len(names) - len(inside), "named": result["named"][:LISTED]}


def _marked(asked: _AskedFiles, vectors: Collection[str | None]) -> _AskedFiles:
    """With those marked that are files of deletion vectors."""
    return replace(asked, found=[replace(each, vector=each.path in vectors) for each in asked.found])


def _tell_older(subject: Subject, version: int, asked: _AskedFiles, inside: int) -> None:
    """What an older version lacks; that it lacks nothing is known only if all of its files were asked for."""
    missing = [each.path for each in asked.found if each.stored is None]
    if missing or asked.count == inside:
        file_checks.note_missing(subject.table.pk, version, missing)


def _ask_storage(read: Read, location: str, chosen: Names, of: int) -> _AskedFiles:
    """Asks for the files, in parts, until SECONDS have passed. Raises Problem 409 `stopped`."""
    storage, until = files_at(location), time.monotonic() + SECONDS
    found: list[Unlike] = []
    done = 0
    for part in _parts(chosen):
        _note_progress(read, {"asked": done, "of": len(chosen), "files": of, "found": len(found)})
        found.extend(unlike(storage, location, part))
        done += len(part)
        if time.monotonic() > until:
            break
    return _AskedFiles(done, found)


def _parts(names: Names) -> Iterator[Sequence[tuple[str, int | None]]]:
    for start in range(0, len(names), AT_ONCE):
        yield names[start : start + AT_ONCE]


def _note_progress(read: Read, progress: Mapping[str, Any]) -> None:
    mine = Read.objects.filter(pk=read.pk, state=Read.State.RUNNING, tries=read.tries)
    if not mine.update(progress=dict(progress)):
        raise Problem(409, "stopped", "This check was stopped.")
