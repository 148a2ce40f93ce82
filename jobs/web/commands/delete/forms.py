"""What somebody filled in on the delete page: a condition in rows and as text, kept in step, or every row by name."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest, QueryDict

from console.accounts.sign_in.drafts import entered
from jobs.commands.delete.rules import Delete
from jobs.domain.errors import CommandRefused
from jobs.domain.predicates.schema import Schema
from jobs.domain.predicates.tree import Node
from jobs.models import Job
from jobs.predicates.reading import parse
from jobs.targets.predicates import PredicateRefused, refused_predicate
from jobs.web.commands.delete.condition_builder import (
    Choice,
    ConditionRow,
    Unfilled,
    choices,
    rows_of,
    text_of,
    tree_of,
)
from jobs.web.prefilled import job_again, reason_in

MAX_ROWS = 50
NOT_BEGUN = "Enter a condition, or choose every row."


@dataclass(frozen=True, slots=True)
class AskedCondition:
    """The form. `said` is the text that the page had shown: where `text` differs from it, the text was edited and leads.

    `act` is the button: preview, add, drop (with `dropped`), clear, count or request. `shape` is which fields the page had shown.
    """

    rows: tuple[ConditionRow, ...] = ()
    text: str = ""
    said: str = ""
    whole: bool = False
    name: str = ""
    reason: str = ""
    act: str = "preview"
    dropped: int | None = None
    shape: str = ""
    rehearse: bool = False

    @property
    def leads(self) -> str:
        """The side that was changed last; without rows there is only the text."""
        return "text" if self.text != self.said or not self.rows else "rows"


def asked_in(request: HttpRequest, table_id: uuid.UUID) -> AskedCondition:
    """What was posted; before that what a job to make again asked for, or the `predicate` and `reason` that a link brings along."""
    given = entered(request)
    if given is None:
        job = job_again(request, Delete.kind, table_id)
        return (
            _again(job)
            if job
            else AskedCondition(text=_lines(request.GET.get("predicate", "")), reason=reason_in(request))
        )
    act, _, index = given.get("do", "preview").partition(":")
    return AskedCondition(
        rows=tuple(_rows(given)),
        text=_lines(given.get("text", "")),
        said=_lines(given.get("said", "")),
        whole=given.get("whole") == "on",
        name=given.get("name", "").strip(),
        reason=given.get("reason", ""),
        act=act,
        shape=given.get("shape", ""),
        rehearse=given.get("rehearse") == "on",
        dropped=int(index) if index.isascii() and index.isdecimal() and len(index) < 5 else None,
    )


def _again(job: Job) -> AskedCondition:
    """The same condition; without one every row, which is agreed to anew."""
    predicate = job.parameters.get("predicate")
    return AskedCondition(text=predicate or "", whole=predicate is None, reason=job.reason, rehearse=job.rehearse)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _rows(given: QueryDict) -> list[ConditionRow]:
    columns = [given.getlist(name)[:MAX_ROWS] for name in ("column", "operator", "value", "until")]
    return [ConditionRow(*filled) for filled in zip(*columns, strict=False)]


WHOLE = "whole"  # the shape of a page that asks for every row


@dataclass(frozen=True, slots=True)
class ConditionLine:
    """A row with what its fields offer; lines are numbered from 1."""

    row: ConditionRow
    number: int
    operators: Sequence[str]
    type: str


@dataclass(frozen=True, slots=True)
class Condition:
    """Both sides as the page shows them. `node` is None until the condition can be read; `rows` is None where rows can't say it.

    `unfilled` says which row isn't a condition yet, `refused` why the text isn't one.
    """

    columns: Sequence[Choice]
    rows: Sequence[ConditionRow] | None
    text: str
    node: Node | None = None
    unfilled: str = ""
    refused: PredicateRefused | None = None

    @property
    def lines(self) -> list[ConditionLine]:
        """The rows with what their fields offer."""
        known = {choice.name: choice for choice in self.columns}
        return [_line(row, number, known.get(row.column)) for number, row in enumerate(self.rows or (), 1)]

    @property
    def shape(self) -> str:
        """Which fields the rows have, whatever they hold."""
        if self.rows is None:
            return "refused" if self.refused else "text"
        return " ".join(f"{row.column}:{row.operator}" for row in self.rows)

    @property
    def terms(self) -> int:
        """How many conditions the rows hold."""
        return sum(1 for row in self.rows or () if row.column)


def _line(row: ConditionRow, number: int, choice: Choice | None) -> ConditionLine:
    return ConditionLine(row, number, choice.operators if choice else ("=",), choice.type if choice else "")


def condition_of(asked: AskedCondition, schema: Schema) -> Condition:
    """The condition that was asked for, with the other side brought in step."""
    columns = choices(schema)
    if asked.act == "clear":
        return Condition(columns, [ConditionRow()], "")
    return _by_text(asked, columns, schema) if asked.leads == "text" else _by_rows(asked, columns, schema)


def _by_text(asked: AskedCondition, columns: Sequence[Choice], schema: Schema) -> Condition:
    text = asked.text
    if not text.strip():
        return Condition(columns, _after_act(asked, [ConditionRow()]), text)
    try:
        node = parse(text, schema)
    except CommandRefused as refused:
        return Condition(columns, None, text, refused=refused_predicate(refused))
    rows = rows_of(node, columns)
    return Condition(columns, None if rows is None else _after_act(asked, rows), text, node)


def _by_rows(asked: AskedCondition, columns: Sequence[Choice], schema: Schema) -> Condition:
    rows = _after_act(asked, list(asked.rows)) or [ConditionRow()]
    if asked.act != "request":
        rows = _fitting(rows, columns)
    try:
        node = tree_of(rows, columns)
    except Unfilled as unfilled:
        return Condition(columns, rows, asked.said, unfilled=str(unfilled))
    text = "" if node is None else text_of(node)
    try:
        return Condition(columns, rows, text, None if node is None else parse(text, schema))
    except CommandRefused as refused:
        return Condition(columns, rows, text, refused=refused_predicate(refused))


def _fitting(rows: Sequence[ConditionRow], columns: Sequence[Choice]) -> list[ConditionRow]:
    """A row whose column was changed keeps its comparison where the new column knows it."""
    known = {choice.name: choice.operators for choice in columns}
    return [
        row if row.operator in known.get(row.column, (row.operator,)) else replace(row, operator=known[row.column][0])
        for row in rows
    ]


def _after_act(asked: AskedCondition, rows: list[ConditionRow]) -> list[ConditionRow]:
    if asked.act == "add" and len(rows) < MAX_ROWS:
        return [*rows, ConditionRow()]
    if asked.act == "drop":
        return [row for index, row in enumerate(rows) if index != asked.dropped]
    return rows
