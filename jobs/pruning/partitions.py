"""Conditions on partition columns: the log has their values, so each file's answer is exact wherever the value can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from jobs.domain.predicates import literals, typenames
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.tree import And, Literal, Node, Not, Or, walk
from jobs.domain.predicates.values import truth
from jobs.pruning.bounds import Bounds, arrow_type
from jobs.pruning.moments import as_dates, as_moments
from jobs.pruning.outcomes import Outcome, filled
from tables.deltalog.state.livefiles import PARTITION

MOST_STEPS = 100_000
"""Distinct values (of several columns: combinations) times nodes that are worked out one by one; beyond, simple tests only."""
MOST_STEPS_IN_ALL = 5 * MOST_STEPS
"""For all parts of one predicate together."""

_GIVEN_UP = 1_000  # what finding out that there are too many counts as

_DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column: its path in predicates, its physical name in the log, its type."""

    path: Path
    physical: str
    type: str


class Exactly:
    """Works out conditions on the partition columns of these files, as long as it has steps left."""

    def __init__(self, files: pa.Table) -> None:
        self.files = files
        self.left = MOST_STEPS_IN_ALL
        self._encoded: dict[str, tuple[pa.Array, list[str | None]]] = {}
        self._known: dict[str, Outcome | None] = {}

    def outcome(self, node: Node, columns: Sequence[PartitionColumn]) -> Outcome | None:
        """The answer for each file, worked out once per distinct value; None when there are too many of them.

        Asked again it answers the same, also when no steps are left.
        """
        key = repr(node)  # equal nodes may differ as texts: 0.0 and -0.0 do
        if key not in self._known:
            self._known[key] = self._worked_out(node, columns)
        return self._known[key]

    def _worked_out(self, node: Node, columns: Sequence[PartitionColumn]) -> Outcome | None:
        if self.left <= 0:
            return None
        encoded = [self._values(column) for column in columns]
        combined, count = _combined([indices for indices, _ in encoded])
        steps = count * sum(1 for _ in walk(node))
        if steps > min(MOST_STEPS, self.left):
            self.left -= _GIVEN_UP
            return None
        self.left -= steps
        return _outcome(node, columns, encoded, combined)

    def _values(self, column: PartitionColumn) -> tuple[pa.Array, list[str | None]]:
        if column.physical not in self._encoded:
            self._encoded[column.physical] = _encoded(self.files, column)
        return self._encoded[column.physical]


def _outcome(
    node: Node,
    columns: Sequence[PartitionColumn],
    encoded: Sequence[tuple[pa.Array, list[str | None]]],
    combined: pa.DictionaryArray,
) -> Outcome:
    distinct = combined.dictionary.to_pylist()
    sizes = [len(values) for _, values in encoded]
    answers = []
    for code in distinct:
        places = _split(code, sizes)
        read = {
            c.path: value_of(values[at], c.type) for c, (_, values), at in zip(columns, encoded, places, strict=True)
        }
        answers.append(_answer(node, {path: value for path, value in read.items() if value is not None}))
    return _spread(answers, combined.indices)


def _encoded(files: pa.Table, column: PartitionColumn) -> tuple[pa.Array, list[str | None]]:
    encoded = pc.dictionary_encode(files.column(PARTITION + column.physical).combine_chunks(), null_encoding="encode")
    return encoded.indices, encoded.dictionary.to_pylist()


def _combined(indices: Sequence[pa.Array]) -> tuple[pa.DictionaryArray, int]:
    """One code per combination of values: the first column's place counts most."""
    total = pc.cast(indices[0], pa.int64())
    for more in indices[1:]:
        size = (pc.max(more).as_py() or 0) + 1
        total = pc.add(pc.multiply(total, size), pc.cast(more, pa.int64()))
    codes = pc.dictionary_encode(total)
    return codes, len(codes.dictionary)


def _split(code: int, sizes: Sequence[int]) -> list[int]:
    places: list[int] = []
    for size in reversed(sizes[1:]):
        code, place = divmod(code, size)
        places.append(place)
    return [code, *reversed(places)]


def value_of(text: str | None, type_name: str) -> Literal | None:
    """A partition value as Delta reads it; None when that isn't certain (a time without a zone, an odd spelling)."""
    if text is None:
        return Literal(type_name, None)
    try:
        return _read(text, type_name)
    except (ValueError, ArithmeticError):
        return None


def _read(text: str, type_name: str) -> Literal | None:
    if type_name == "string":
        return Literal(type_name, text)
    if type_name in typenames.INTEGERS:
        return literals.sized(int(text), type_name) if text.lstrip("-").isdecimal() and text.isascii() else None
    if type_name.startswith("decimal"):
        return _read_decimal(text, type_name) if _DECIMAL.fullmatch(text) else None
    match type_name:
        case "date":
            return literals.day(text)
        case "boolean":
            return Literal(type_name, text == "true") if text in ("true", "false") else None
        case "timestamp":
            return literals.time(text, type_name) if text.endswith("Z") else None
        case "timestamp_ntz":
            return literals.time(text, type_name)
    return None


def _read_decimal(text: str, type_name: str) -> Literal | None:
    """Delta rounds what has more digits than the column: such a value isn't known."""
    value, (digits, scale) = Decimal(text), typenames.decimal_parts(type_name)
    _, _, exponent = value.as_tuple()
    fits = -int(exponent) <= scale and value.adjusted() < digits - scale
    return Literal(type_name, value) if fits else None


Answer = tuple[bool, bool, bool]
"""Whether a condition may be true, false, NULL."""


def _answer(node: Node, row: Mapping[Path, Literal]) -> Answer:
    """One that can't be worked out doesn't blur those beside it."""
    match node:
        case And(terms):
            return reduce(_both, (_answer(term, row) for term in terms))
        case Or(terms):
            return _not(reduce(_both, (_not(_answer(term, row)) for term in terms)))
        case Not(operand):
            return _not(_answer(operand, row))
    try:
        value = truth(node, row)
    except (Undecided, Fails):
        return True, True, True
    return value is True, value is False, value is None


def _not(inner: Answer) -> Answer:
    true, false, null = inner
    return false, true, null


def _both(left: Answer, right: Answer) -> Answer:
    """As outcomes.both, for one value."""
    only_false = (False, True, False)
    null = (left[2] or right[2]) and only_false not in (left, right)
    return left[0] and right[0], left[1] or right[1], null


def _spread(answers: list[Answer], indices: pa.Array) -> Outcome:
    if not answers:
        return Outcome(*(filled(0, False) for _ in range(3)))
    return Outcome(*(pc.take(pa.array([answer[part] for answer in answers]), indices) for part in range(3)))


def partition_bounds(files: pa.Table, column: PartitionColumn) -> Bounds:
    """The same column as bounds that meet, for tables with very many partitions."""
    texts = files.column(PARTITION + column.physical).combine_chunks()
    values = _typed(texts, column.type)
    return Bounds(column.type, values, values, may_null=pc.is_null(values), only_null=pc.is_null(texts), exact=True)


def _typed(texts: pa.Array, type_name: str) -> pa.Array:
    match type_name:
        case "string":
            return texts
        case "date":
            return as_dates(texts)
        case "timestamp" | "timestamp_ntz":
            return as_moments(pc.replace_substring(texts, " ", "T"), type_name)
    if type_name in typenames.INTEGERS:
        proper = pc.match_substring_regex(texts, r"^-?\d{1,18}$")
        return pc.cast(pc.if_else(proper, texts, pa.scalar(None, pa.string())), pa.int64())
    return pa.nulls(len(texts), arrow_type(type_name) or pa.int64())
