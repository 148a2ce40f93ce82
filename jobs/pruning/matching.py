"""A predicate against the live files of a version: which can't, may and must match. Vectorised; sound by "may"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from jobs.domain.predicates import patterns, tree
from jobs.domain.predicates.casting import Fails, Undecided
from jobs.domain.predicates.tree import Literal, Node, columns
from jobs.domain.predicates.typenames import INTEGERS
from jobs.domain.predicates.values import worth
from jobs.pruning import bounds as bounded
from jobs.pruning.bounds import Bounds
from jobs.pruning.outcomes import Outcome, anything, both, either, filled, negated
from jobs.pruning.partitions import Exactly, PartitionColumn, partition_bounds
from jobs.pruning.statistics import LONGEST_TEXT, Path, WantedColumn, bounds_of

MANY_OPTIONS = 20


@dataclass(frozen=True, slots=True)
class DataColumn:
    """A column kept in the files: its path in predicates, its physical path in statistics, its type."""

    path: Path
    physical: Path
    type: str


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The live files (livefiles.py) and the columns that a predicate may name."""

    table: pa.Table
    partitions: Sequence[PartitionColumn]
    data: Sequence[DataColumn]
    longest_text: int = LONGEST_TEXT

    @property
    def count(self) -> int:
        return int(self.table.num_rows)


def match(node: Node, files: LiveFiles) -> Outcome:
    """What the predicate may be on the rows of each file."""
    return Matcher.of(node, files).outcome(node)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Judges a predicate by the log's values of partitions and by these bounds of data columns."""

    files: LiveFiles
    partitions: Mapping[Path, PartitionColumn]
    data: Mapping[Path, Bounds]
    exactly: Exactly

    @classmethod
    def of(cls, node: Node, files: LiveFiles) -> Matcher:
        """With the bounds of the columns that the predicate names."""
        named = columns(node)
        wanted = {column.path: column for column in files.data if column.path in named}
        bounds = bounds_of(
            files.table.column("stats"),
            files.table.column("num_records").combine_chunks(),
            [WantedColumn(column.physical, column.type) for column in wanted.values()],
            files.longest_text,
        )
        data = {path: bounds[column.physical] for path, column in wanted.items()}
        return cls(files, {column.path: column for column in files.partitions}, data, Exactly(files.table))

    def by(self, data: Mapping[Path, Bounds]) -> Matcher:
        """The same, by other bounds."""
        return replace(self, data=data)

    def outcome(self, node: Node) -> Outcome:
        """What the predicate may be on the rows of each file."""
        named = columns(node)
        if named and named <= self.partitions.keys():
            exact = self.exactly.outcome(node, [self.partitions[path] for path in sorted(named)])
            if exact is not None:
                return exact
        match node:
            case tree.And(terms):
                return reduce(both, (self.outcome(term) for term in terms))
            case tree.Or(terms):
                return reduce(either, (self.outcome(term) for term in terms))
            case tree.Not(operand):
                return negated(self.outcome(operand))
            case tree.Between(operand, low, high):
                ends = (tree.Comparison(">=", operand, low), tree.Comparison("<=", operand, high))
                return both(*(self.outcome(end) for end in ends))
        return self._test(node)

    def _test(self, node: Node) -> Outcome:
        match node:
            case tree.IsNull(tree.ColumnPath(path), negated_):
                bounds = self._bounds(path)
                outcome = bounded.is_null(bounds) if bounds else anything(self.files.count)
                return negated(outcome) if negated_ else outcome
            case tree.Comparison(operator, tree.ColumnPath(path), other):
                return self._compared(path, operator, other)
            case tree.Comparison(operator, other, tree.ColumnPath(path)):
                return self._compared(path, bounded.FLIPPED.get(operator, operator), other)
            case tree.In(tree.ColumnPath(path), options):
                return self._in(path, options)
            case tree.Like(tree.ColumnPath(path), pattern, escape):
                return self._like(path, pattern, escape)
            case tree.Call("startswith", (tree.ColumnPath(path), Literal(_, str() as prefix))):
                return self._begins(path, prefix)
            case tree.ColumnPath(path) if bounds := self._bounds(path):
                return bounded.some_value(bounds)
        return anything(self.files.count)

    def _bounds(self, path: Path) -> Bounds | None:
        if path in self.partitions:
            return partition_bounds(self.files.table, self.partitions[path])
        return self.data.get(path)

    def _compared(self, path: Path, operator: str, other: Node) -> Outcome:
        bounds, constant = self._bounds(path), _constant(other)
        if bounds is None or constant is None:
            return anything(self.files.count)
        return bounded.compared(bounds, operator, constant)

    def _in(self, path: Path, options: Sequence[Node]) -> Outcome:
        """Many options are ruled out by their ends, unless the values are known exactly."""
        bounds = self._bounds(path)
        constants = [constant for option in options if (constant := _constant(option)) is not None]
        if bounds is None or len(constants) < len(options) or not _alike(constants):
            return anything(self.files.count)
        if (exact := bounded.among(bounds, constants)) is not None:
            return exact
        if len(options) <= MANY_OPTIONS:
            return reduce(either, (bounded.compared(bounds, "=", constant) for constant in constants))
        ordered = sorted(constants, key=lambda constant: constant.value)  # type: ignore[arg-type, return-value]  # of one type
        ends = both(bounded.compared(bounds, ">=", ordered[0]), bounded.compared(bounds, "<=", ordered[-1]))
        valued = bounded.some_value(bounds)
        return Outcome(ends.true, valued.false, valued.null)

    def _like(self, path: Path, pattern: str, escape: str) -> Outcome:
        prefix, whole = patterns.prefix(pattern, escape)
        return self._compared(path, "=", Literal("string", prefix)) if whole else self._begins(path, prefix)

    def _begins(self, path: Path, prefix: str) -> Outcome:
        bounds = self._bounds(path)
        return bounded.begins(bounds, prefix) if bounds else anything(self.files.count)


def _alike(constants: Sequence[Literal]) -> bool:
    """Whether options meet in one type whatever the column's is."""
    kinds = {constant.type for constant in constants}
    return len(kinds) == 1 or kinds <= set(INTEGERS)


def _constant(node: Node) -> Literal | None:
    if columns(node):
        return None
    try:
        return worth(node, {})
    except (Undecided, Fails):
        return None


def everything(files: LiveFiles) -> Outcome:
    """The whole table: every row of every file."""
    return Outcome(filled(files.count, True), filled(files.count, False), filled(files.count, False))
