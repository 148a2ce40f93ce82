"""Reads of the files that a stream is to read: their columns and a few rows, before there is a stream; the audit log records each one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from console.accounts.models import Person
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from console.base.errors import Problem
from jobs.lifecycle.cancelling import require_person
from jobs.models import Read, Worker
from jobs.reads import queue
from jobs.streams.file_listing import newest_files
from jobs.streams.sources import directory_of, unread_source

KIND = "stream_source"
FILES = 5  # the newest ones
PATH = "source.path"


def ask_source(actor: Actor, given: Mapping[str, Any]) -> Read:
    """Queues the read. `given` is a stream's source: `path`, `format` and perhaps `options`.

    Raises Problem as the definition of a stream of this source would; 422 `no_files`; 503 `audit_unavailable`.
    """
    source = unread_source(actor, given)
    try:
        files = newest_files(source, FILES)
    except (OSError, ValueError) as error:
        raise _problem("unreadable", f"{error}. Write the columns yourself.") from None
    if not files:
        raise _problem(
            "no_files", f"There is no file in {source.path} yet that Spark would read. Write the columns yourself."
        )
    question = {"path": source.path, "format": source.format, "options": dict(source.options), "files": files}
    with transaction.atomic():
        after = {"read": KIND, "format": source.format, "files": files}
        record(actor, Action.TABLE_READ_ROWS, ObjectKind.PATH, source.path, source.path, after=after)
        return queue.ask(require_person(actor), KIND, Worker.Kind.INTERACTIVE, question)


def _problem(code: str, text: str) -> Problem:
    return Problem(422, code, text, fields={PATH: text})


def source_read(person: Person, read_id: str, path: str) -> Read | None:
    """The person's read of this directory, while it is kept; None if there is none."""
    try:
        known = Read.objects.filter(pk=uuid.UUID(read_id), person=person, kind=KIND).first()
    except ValueError:
        return None
    return known if known and known.question["path"] == path and not queue.is_over(known) else None


def check_source(actor: Actor, read: Read) -> None:
    """Raises Problem if the person may no longer read rows of the directory."""
    directory_of(actor, read.question["path"])
