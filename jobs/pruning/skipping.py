"""Files that Delta's data skipping passes over though rows in them may match.

Delta trusts every file's statistics as they are written (Delta 4.4.0, DataSkippingReader.getStatsColumnOpt). Where those can't be trusted,
a DELETE leaves matching rows, and a count by Spark, which skips the same files, doesn't see them either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from console.base.text.counted import counted
from jobs.domain.predicates import typenames
from jobs.domain.predicates.tree import Node
from jobs.pruning.bounds import DOUBLE_DIGITS, Bounds
from jobs.pruning.matching import DataColumn, Matcher
from jobs.pruning.outcomes import Outcome, filled
from jobs.pruning.statistics import Path

MOST_FILES, MOST_BYTES = 20, 256 << 20  # read without skipping, for a preview
_MOST_DIGITS = 17  # that a double is written with, unless as the whole number that it is

Data = Mapping[Path, Bounds]


@dataclass(frozen=True, slots=True)
class Missed:
    """How many files: for their `bounds`, and for `nan`, which some writers leave out of bounds."""

    bounds: int = 0
    nan: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Each in words."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.bounds:
            yield (
                f"Delta’s data skipping may miss rows of {counted(self.bounds, 'file')}: the bounds in the log are cut, rounded or"
                " contradictory. Spark’s count and the delete would leave these rows out. Rewriting the files, for example by OPTIMIZE"
                " with a Z-order, records new bounds."
            )
        if self.nan:
            yield (
                f"Delta’s data skipping may miss rows with NaN in {counted(self.nan, 'file')}: NaN exceeds every number, but writers"
                " other than Spark leave it out of the bounds that the log records."
            )


NONE = Missed()


def missed(node: Node, matcher: Matcher, outcome: Outcome) -> tuple[Missed, pa.Array]:
    """Files that may match by `outcome`, which is the matcher's, and that Delta skips: how many, and a mask of them."""
    bounds, nan = _by_bounds(node, matcher, outcome), _by_nan(node, matcher, outcome)
    return Missed(_count(bounds), _count(nan)), pc.or_(bounds, nan)


def sampled(files: pa.Table) -> list[str]:
    """Of the files that Delta skips those to read without skipping, by their paths in the log: the smallest, never too many to wait for."""
    in_order = files.select(["path", "size"]).sort_by("size")
    sums = pc.cumulative_sum(in_order.column("size")).to_pylist()
    most = sum(1 for read in sums[:MOST_FILES] if read <= MOST_BYTES)
    paths: list[str] = in_order.column("path").slice(0, max(1, most)).to_pylist()
    return paths


def note_of(files: int, rows: int, of: int) -> str:
    """What was found in `files` out of those `of` them that Delta skips, read without skipping: `rows` that match."""
    some = f"{files:,} of these {counted(of, 'file')}" if files < of else "these files" if files > 1 else "this file"
    held = "no matching row"
    if rows:
        held = f"{counted(rows, 'matching row')}: the delete would leave {'it' if rows == 1 else 'them'}"
    return f"Read without data skipping, {some} hold{'' if files > 1 else 's'} {held}."


def _by_bounds(node: Node, matcher: Matcher, outcome: Outcome) -> pa.Array:
    """A float's bounds are known for Delta alone, so they make no difference here."""
    data = {path: found.as_read for path, found in matcher.data.items() if found.as_read and found.type != "float"}
    if not data:
        return filled(matcher.files.count, False)
    passed = _passed(node, matcher, data, outcome)
    rounded = {path: found for path, found in data.items() if found.rounded is not None}
    if rounded and pc.any(passed).as_py():
        texts = matcher.files.table.column("stats").filter(passed).to_pylist()
        columns = {column.path: column for column in matcher.files.data if column.path in rounded}
        told = {path: _where_rounded(passed, texts, columns[path]) for path in rounded}
        data = data | {path: replace(found, rounded=told[path]) for path, found in rounded.items()}
        passed = _passed(node, matcher, data, outcome)
    return passed


def _by_nan(node: Node, matcher: Matcher, outcome: Outcome) -> pa.Array:
    data = {path: found.as_read or found for path, found in matcher.data.items()}
    doubles = {path: replace(found, counts_nan=True) for path, found in data.items() if found.may_nan}
    if not doubles:
        return filled(matcher.files.count, False)
    may = matcher.by(data).outcome(node)
    return _passed(node, matcher, data | doubles, replace(outcome, true=pc.and_(may.true, outcome.true)))


def _passed(node: Node, matcher: Matcher, data: Data, outcome: Outcome) -> pa.Array:
    """The files that may match and that Delta skips by these bounds."""
    return pc.and_not(outcome.true, matcher.by({**matcher.data, **data}).outcome(node).true)


def _count(mask: pa.Array) -> int:
    return pc.sum(mask).as_py() or 0


def _where_rounded(passed: pa.Array, texts: list[str], column: DataColumn) -> pa.Array:
    """Of the files passed over those in which a double may have rounded one of the column's bounds."""
    return pc.replace_with_mask(passed, passed, pa.array([_is_rounded(text, column) for text in texts], pa.bool_()))


def _is_rounded(text: str, column: DataColumn) -> bool:
    try:
        stats = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return True
    _, scale = typenames.decimal_parts(column.type)
    sides = (_member(stats, (part, *column.physical)) for part in ("minValues", "maxValues"))
    return not all(_is_whole(side, scale) for side in sides)


def _member(value: Any, path: Path) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_whole(number: Any, scale: int) -> bool:
    """Whether a decimal was written with all its digits, as Spark does, and not by way of a double, as deltalake does."""
    if not isinstance(number, str):
        return True
    try:
        value = Decimal(number)
    except ArithmeticError:
        return False
    _, digits, exponent = value.as_tuple()
    if exponent != -scale or "e" in number.lower():
        return False
    return len(digits) <= DOUBLE_DIGITS or (len(digits) > _MOST_DIGITS and Decimal(float(value)) != value)
