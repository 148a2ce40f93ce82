"""Reorg: the log says at once what Delta may rewrite; newer commits don't make it stale, since it changes no row."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.audit.actor import Actor
from jobs.commands.base import Drift, Found, Handling, Measured, Prepared, rewrite_drift, rewrite_look, stored
from jobs.commands.reorg.log import NOTHING, files_rewritten, from_log
from jobs.commands.reorg.rules import Reorg
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


class ReorgHandling(Handling[Reorg]):
    """Rows stay what they are, so it may run on whatever version the table has by then."""

    not_undone = "A reorg changes no row: there is nothing to undo."
    fence = Fence.FILES

    def asked(self, command: Reorg) -> Mapping[str, Any]:
        return {"table": command.table, "predicate": command.predicate}

    def prepare(self, actor: Actor, command: Reorg, seen: Subject | None) -> Prepared:
        """Raises Http404; Problem 403 `forbidden`, 400 (`predicate_refused`, `invalid` with Delta's condition), 422."""
        table = table_to_change(actor, uuid.UUID(command.table))
        try:
            subject = seen or subject_to_change(table.pk)
            written, node = written_for(subject, command)
            preview = with_past(table, Reorg.kind, from_log(subject, written, node))
        except CommandRefused as refused:
            raise problem_of_rewrite(refused) from None
        return Prepared(written, table.path, lambda: table, preview)

    def preview(self, job: Job, measured: Measured) -> Found:
        command, subject = stored(Reorg, job), subject_to_change(job.table_id)
        node = reread(subject, tree_of(command))
        values = with_past(subject.table, Reorg.kind, from_log(subject, command, node))
        nothing = NOTHING if values["nothing_to_do"] else None
        constraints = subject.asked_of_constraints(lambda: files_rewritten(subject, node) if values["exact"] else None)
        return Found(values, subject.version, nothing_to_do=nothing, constraints=constraints)

    def drift(self, job: Job, measured: Measured) -> Drift | None:
        return rewrite_drift(job, subject_to_change(job.table_id))

    def files_read(self, job: Job) -> FilesRead | None:
        command, subject = stored(Reorg, job), subject_to_change(job.table_id)
        return FilesRead(subject.table.path, files_rewritten(subject, reread(subject, tree_of(command))))

    def look(self, job: Job) -> Drift | None:
        return rewrite_look(job)

    def reread(self, job: Job, result: Result) -> Result:
        return with_rows_changed(job, result)

    def completed(self, job: Job, result: Result) -> Result:
        return with_rows_changed(job, result)


def written_for(subject: Subject, command: Reorg) -> tuple[Reorg, Node | None]:
    """The command as it is stored, and its predicate's tree. Raises CommandRefused (`predicate_refused`)."""
    node = None if command.predicate is None else subject.read(command.predicate)
    text, tree = (None, None) if node is None else (to_text(node), to_json(node))
    return replace(command, predicate=text, tree=tree, path=subject.table.path), node


def tree_of(command: Reorg) -> Node | None:
    """The stored predicate's tree."""
    return None if command.tree is None else from_json(command.tree)
