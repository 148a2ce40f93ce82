"""Conditions as the rows of a builder: what a flat list of simple comparisons, all of which must hold, looks like in fields.

Rows and tree stay in step: a tree is shown as rows only where the rows give an equal tree back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from jobs.domain.predicates import literals, typenames
from jobs.domain.predicates.printing import name_text, to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.predicates.tree import And, Between, ColumnPath, Comparison, In, IsNull, Like, Literal, Node, Not

COMPARED = ("=", "<>", "<", "<=", ">", ">=")
BETWEEN, ONE_OF, NONE_OF, LIKE, NOT_LIKE = "between", "one of", "none of", "like", "not like"
NULL, NOT_NULL = "is null", "is not null"
NULLS = (NULL, NOT_NULL)
LISTS = (ONE_OF, NONE_OF)
_NUMBER = re.compile(r"-?\d{1,38}(\.\d{1,37})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ConditionRow:
    """One line of the builder, as somebody filled it in; `until` is the end of a BETWEEN. No column: not begun."""

    column: str = ""
    operator: str = "="
    value: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A column that a row may name, by its text in a predicate."""

    name: str
    path: tuple[str, ...]
    type: str

    @property
    def operators(self) -> tuple[str, ...]:
        """What makes sense for the column's type; some can only be asked for NULL."""
        match typenames.family(self.type):
            case "text":
                return (*COMPARED, BETWEEN, *LISTS, LIKE, NOT_LIKE, *NULLS)
            case "number" | "time":
                return (*COMPARED, BETWEEN, *LISTS, *NULLS)
            case "boolean":
                return ("=", *NULLS)
        return NULLS


class Unfilled(ValueError):
    """A row that isn't a condition yet; `row` counts from 0."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"Rule {row + 1}: {reason}")
        self.row = row


def choices(schema: Schema) -> list[Choice]:
    """The columns, structs by their fields."""
    return [choice for field in schema.fields for choice in _below(field, ())]


def _below(field: Field, above: tuple[str, ...]) -> list[Choice]:
    path = (*above, field.name)
    if field.fields:
        return [choice for inner in field.fields for choice in _below(inner, path)]
    return [Choice(name_text(path), path, field.type)]


def tree_of(rows: Sequence[ConditionRow], columns: Sequence[Choice]) -> Node | None:
    """The tree of the rows that are begun; None when none is. Raises Unfilled."""
    known = {choice.name: choice for choice in columns}
    terms = [_term(index, row, known) for index, row in enumerate(rows) if row.column]
    return None if not terms else terms[0] if len(terms) == 1 else And(tuple(terms))


def text_of(node: Node) -> str:
    """The text of a tree of rows, one condition a line."""
    return "\nAND ".join(map(to_text, node.terms)) if isinstance(node, And) else to_text(node)


def rows_of(node: Node, columns: Sequence[Choice]) -> list[ConditionRow] | None:
    """The rows of a tree; None where rows can't say it."""
    terms = node.terms if isinstance(node, And) else (node,)
    rows = [_row(term) for term in terms]
    visible = [row for row in rows if row is not None and _is_visible(row)]
    try:
        same = len(visible) == len(rows) and tree_of(visible, columns) == node
    except Unfilled:
        return None
    return visible if same else None


def _is_visible(row: ConditionRow) -> bool:
    """A field of a page drops line breaks and shows no controls; the text spells them out."""
    return not any(map(literals.is_hidden, row.value + row.until))


def _term(index: int, row: ConditionRow, known: dict[str, Choice]) -> Node:
    choice = known.get(row.column)
    if choice is None:
        raise Unfilled(index, f"the table has no column {row.column}.")
    if row.operator not in choice.operators:
        raise Unfilled(index, f"{row.column} is {choice.type} and doesn’t support this comparison.")
    try:
        return _condition(row, ColumnPath(choice.path), choice.type)
    except literals.NotALiteral as wrong:
        raise Unfilled(index, f"{wrong}.") from None


def _condition(row: ConditionRow, column: ColumnPath, kind: str) -> Node:
    match row.operator:
        case "is null" | "is not null":
            return IsNull(column, row.operator == NOT_NULL)
        case "between":
            return Between(column, _literal(row.value, kind), _literal(row.until, kind))
        case "like" | "not like":
            like = Like(column, _filled(row.value))
            return like if row.operator == LIKE else Not(like)
        case "one of" | "none of":
            options = In(column, tuple(_literal(part.strip(), kind) for part in row.value.split(",")))
            return options if row.operator == ONE_OF else Not(options)
    return Comparison(row.operator, column, _literal(row.value, kind))


def _filled(text: str) -> str:
    if not text:
        raise literals.NotALiteral("write a value")
    return text


def _literal(text: str, kind: str) -> Literal:
    """What somebody wrote beside a column of this type, never as more than one value. Raises NotALiteral."""
    text = _filled(text)
    match typenames.family(kind):
        case "number":
            return _number(text)
        case "time":
            return literals.day(text) if kind == "date" else literals.time(text, kind)
        case "boolean":
            return _flag(text)
    return Literal("string", text)


def _number(text: str) -> Literal:
    if not _NUMBER.fullmatch(text):
        raise literals.NotALiteral(f"'{text}' isn’t a number: write it as 5 or -1.5")
    return literals.decimal(Decimal(text)) if "." in text else literals.integer(int(text))


def _flag(text: str) -> Literal:
    if text.lower() not in ("true", "false"):
        raise literals.NotALiteral(f"'{text}' is neither true nor false")
    return Literal("boolean", text.lower() == "true")


def _row(term: Node) -> ConditionRow | None:
    match term:
        case Comparison(operator, ColumnPath(path), Literal() as value):
            return ConditionRow(name_text(path), operator, _shown(value))
        case Between(ColumnPath(path), Literal() as low, Literal() as high):
            return ConditionRow(name_text(path), BETWEEN, _shown(low), _shown(high))
        case IsNull(ColumnPath(path), negated):
            return ConditionRow(name_text(path), NOT_NULL if negated else NULL)
        case Not(In() | Like() as test):
            return _listed(test, NONE_OF, NOT_LIKE)
        case In() | Like():
            return _listed(term, ONE_OF, LIKE)
    return None


def _listed(test: In | Like, list_word: str, like_word: str) -> ConditionRow | None:
    match test:
        case Like(ColumnPath(path), pattern, _):
            return ConditionRow(name_text(path), like_word, pattern)
        case In(ColumnPath(path), options):
            values = [_shown(option) if isinstance(option, Literal) else "" for option in options]
            return ConditionRow(name_text(path), list_word, ", ".join(values))
    return None


def _shown(literal: Literal) -> str:
    """A value as a person fills it in."""
    value = literal.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):  # and datetime
        return str(value).removesuffix("+00:00")
    return literals.to_text(literal)
