"""Optimize: the log says at once what Delta would rewrite; newer commits don't make it stale, since it changes no row."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from console.audit.actor import Actor
from console.base.errors import Problem
from jobs.commands.base import Drift, Found, Handling, Measured, Prepared, rewrite_drift, rewrite_look, stored
from jobs.commands.optimize.log import NOTHING, files_rewritten, from_log, sorted_by
from jobs.commands.optimize.rules import Optimize, written_name
from jobs.domain.errors import CommandRefused
from jobs.domain.fences import Fence
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.stored import from_json, to_json
from jobs.domain.predicates.tree import Node
from jobs.domain.results import Result
from jobs.models import Job
from jobs.targets.access import table_to_change
from jobs.targets.past_runs import with_past
from jobs.targets.problems import problem_of_rewrite
from jobs.targets.rewritten_rows import with_rows_changed
from jobs.targets.stored_files import FilesRead
from jobs.targets.subject import Subject, reread
from jobs.targets.writable import subject_to_change

MOST_COLUMNS = 32


class OptimizeHandling(Handling[Optimize]):
    """Rows stay what they are, so it may run on whatever version the table has by then."""

    not_undone = "An optimize changes no row: there is nothing to undo."
    fence = Fence.FILES

    def check(self, command: Optimize) -> None:
        """Raises Problem 400 for columns that are given twice, empty or too many."""
        fault = _fault(command.zorder_by)
        if fault:
            raise Problem(400, "invalid", f"{fault} Nothing was requested.", fields={"zorder_by": fault})

    def asked(self, command: Optimize) -> Mapping[str, Any]:
        columns = list(command.zorder_by) if command.zorder_by else None
        return {
            "table": command.table,
            "predicate": command.predicate,
            "zorder_by": columns,
            "full": command.full,
        }

    def prepare(self, actor: Actor, command: Optimize, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 (`predicate_refused`, `invalid` with Delta's condition), 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_change(table.pk)
            written, node = written_for(subject, command)
            preview = with_past(table, Optimize.kind, from_log(subject, written, node))
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        command, subject = stored(Optimize, job), subject_to_change(job.table_id)
        node = reread(subject, tree_of(command))
        values = with_past(subject.table, Optimize.kind, from_log(subject, command, node))
        nothing = NOTHING[values["mode"]] if values["nothing_to_do"] else None
        constraints = subject.asked_of_constraints(partial(_surely_rewritten, subject, command, node, values))
        return Found(values, subject.version, nothing_to_do=nothing, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return rewrite_drift(job, subject_to_change(job.table_id))

    def fence_of(self, job: Job) -> Fence:
        """A Z-order, or one of everything, finds its own files to do again."""
        command = stored(Optimize, job)
        return Fence.NONE if command.zorder_by or command.full else self.fence

    def files_read(self, job: Job) -> FilesRead | None:
        command, subject = stored(Optimize, job), subject_to_change(job.table_id)
        return FilesRead(subject.table.path, files_rewritten(subject, command, reread(subject, tree_of(command))))

    def look(self, job: Job) -> Drift | None:
        return rewrite_look(job)

    def reread(self, job: Job, result: Result) -> Result:
        return with_rows_changed(job, result)

    def completed(self, job: Job, result: Result) -> Result:
        return with_rows_changed(job, result)


def written_for(subject: Subject, command: Optimize) -> tuple[Optimize, Node | None]:
    """The command as it is stored, and its predicate's tree. Raises CommandRefused (`predicate_refused`, `invalid`)."""
    node = None if command.predicate is None else subject.read(command.predicate)
    text, tree = (None, None) if node is None else (to_text(node), to_json(node))
    columns = [written_name(path) for path in sorted_by(subject, command.zorder_by or ())] or None
    path = subject.table.path
    return replace(command, predicate=text, tree=tree, zorder_by=columns, path=path), node


def _surely_rewritten(
    subject: Subject, command: Optimize, node: Node | None, values: Mapping[str, Any]
) -> pa.Table | None:
    """The files that Delta rewrites; None where some of those that it looks at may stay as they are."""
    files = files_rewritten(subject, command, node)
    return files if values["exact"] and values["files_in"] == files.num_rows else None


def tree_of(command: Optimize) -> Node | None:
    """The stored predicate's tree."""
    return None if command.tree is None else from_json(command.tree)


def _fault(columns: Sequence[str] | None) -> str:
    if not columns:
        return ""
    if any(not name.strip() for name in columns):
        return "A column’s name is empty."
    if len({name.lower() for name in columns}) < len(columns):
        return "A column is given twice."
    return f"At most {MOST_COLUMNS} columns can be given." if len(columns) > MOST_COLUMNS else ""
