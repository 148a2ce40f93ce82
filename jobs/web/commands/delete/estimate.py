"""What a delete would touch, asked before anything is asked for: from the log at once, or counted by Spark as a read."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.services import record
from jobs.commands.delete.log import LogPreview, from_log, further_question, shown
from jobs.commands.delete.rules import PASSED_OVER
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import to_json
from jobs.domain.predicates.tree import Node
from jobs.lifecycle.cancelling import require_person
from jobs.models import Read, Worker
from jobs.pruning.prediction import empty_files_notes
from jobs.pruning.skipping import Missed, note_of
from jobs.reads import queue
from jobs.reads.rows import table_with_rows
from jobs.targets.problems import problem_of_refused
from jobs.targets.subject import Subject
from jobs.targets.writable import subject_to_change
from tables.models import Table

MATCHED = "matched"
SKIPPED = "skipped_files"  # in a read's question: how many files Delta's skipping passes over
BY_PARTITION = "by_partition"  # for pages alone


def preview(actor: Actor, table_id: uuid.UUID, text: str | None) -> dict[str, Any]:
    """The log's answer at the newest version, as the API has it; `text` None is the whole table.

    Statistics tell of values, so it takes the right to rows. Raises Http404; Problem 403 `forbidden`, 400 `predicate_refused`, 422
    `append_only`, `not_delta`, `unreadable`.
    """
    subject, node = _asked(table_with_rows(actor, table_id), text)
    return {name: value for name, value in _previewed(subject, node).items() if name != BY_PARTITION}


def preview_of(actor: Actor, subject: Subject, node: Node | None) -> dict[str, Any]:
    """As `preview`, for a page that has looked at the table already: page and preview are of one version. Raises as it does."""
    table_with_rows(actor, subject.table.pk)
    return _previewed(subject, node)


def ask_exact(actor: Actor, table_id: uuid.UUID, text: str | None) -> Read:
    """The read by which Spark counts the matching rows at the newest version. Counting tells of rows: it is an event.

    Raises as `preview` does, and Problem 503 `audit_unavailable`.
    """
    subject, node = _asked(table_with_rows(actor, table_id), text)
    return ask_exact_of(actor, subject, node)


def ask_exact_of(actor: Actor, subject: Subject, node: Node | None) -> Read:
    """As `ask_exact`, at the version that a page shows."""
    table = table_with_rows(actor, subject.table.pk)
    log = _from_log(subject, node)
    preview = _named(table, node) | shown(log.values)
    tree = None if node is None else to_json(node)
    question = {"path": table.path, "tree": tree, "version": subject.version, "preview": preview}
    if further := further_question(log, subject, tree):
        question |= further | {SKIPPED: log.passed_over.num_rows}
    after = {"read": MATCHED, "predicate": preview["predicate"]}
    with transaction.atomic():
        record(
            actor, Action.TABLE_READ_ROWS, ObjectKind.TABLE, table.pk, table.name,
            after=after, table_version=subject.version,
        )  # fmt: skip
        person = require_person(actor)
        return queue.ask(person, MATCHED, Worker.Kind.INTERACTIVE, question, table, subject.version)


def answered(read: Read) -> dict[str, Any]:
    """The log's preview with Spark's count in it, as the API has it."""
    log = {name: value for name, value in read.question["preview"].items() if name != BY_PARTITION}
    answer = read.answer or {}
    whole = log["class"] == "whole_table" or answer["rows"] >= answer["rows_total"]
    rewrites = log["branch"] == "rewrite"
    files, size = _touched(log, answer)
    counted = {
        **log,
        "table": read.table_id,
        "class": "whole_table" if whole else "ordinary",
        "branch": log["branch"] if files else "nothing",
        "files_matched": files,
        "files_to_rewrite": answer["files"] if rewrites else 0,
        "bytes_matched": size,
        "bytes_to_rewrite": answer["bytes"] if rewrites else 0,
        "rows_matched": answer["rows"],
        "rows_matched_exact": True,
        "rows_total": answer["rows_total"],
        "rows_hash": answer["rows_hash"],
        "notes": [*empty_files_notes(files - answer["files"]), *Missed(**log.get("skipping", {})).notes],
        "speed": "spark",
    }
    if PASSED_OVER not in answer:
        return counted
    skipped = {**answer[PASSED_OVER], "of": read.question[SKIPPED]}
    return counted | {PASSED_OVER: skipped, "notes": [*counted["notes"], note_of(**skipped)]}


def _touched(log: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[int, int | None]:
    """Files and bytes that go. By the log alone they are those that the log is sure of: Spark sees none without rows."""
    if log["branch"] == "metadata_only" and log["files_whole"] == log["files_matched"]:
        return log["files_matched"], log["bytes_matched"]
    return answer["files"], answer["bytes"]


def _asked(table: Table, text: str | None) -> tuple[Subject, Node | None]:
    try:
        subject = subject_to_change(table.pk)
        return subject, None if text is None else subject.read(text)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None


def _from_log(subject: Subject, node: Node | None) -> LogPreview:
    try:
        return from_log(subject, node)
    except CommandRefused as refused:
        raise problem_of_refused(refused) from None


def _previewed(subject: Subject, node: Node | None) -> dict[str, Any]:
    return _named(subject.table, node) | shown(_from_log(subject, node).values)


def _named(table: Table, node: Node | None) -> dict[str, Any]:
    return {"table": str(table.pk), "predicate": None if node is None else to_text(node)}
