"""A batch beside the schema of a table that is there: columns that only one side has, and those that Delta checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jobs.commands.stream_round.rules import COMPLETE, Definition
from jobs.domain.consequences import listed
from jobs.domain.errors import Refusal
from jobs.streams.prediction.casts import ColumnDifference, differences, of_type
from jobs.streams.prediction.new_columns import bad_names, feature, incompatible, metadata, reserved
from jobs.streams.prediction.values import UNSURE, Found, Path, StreamNote, TargetTable
from tables.deltalog.rules.schema import Column, Primitive, Struct, dotted, walk

_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"


def merging(definition: Definition, batch: Struct, table: TargetTable) -> Found:
    found = list(differences(table.struct, batch, ()))
    for difference in found:
        yield from of_type(difference, definition, table)
    added = [difference for difference in found if difference.kind == "added"]
    if added:
        yield from _of_added(definition, batch, table, added)
    yield from _of_partitioning(definition, batch, table)
    yield from _absent(table.struct.columns, batch, (), table)
    yield from _given(batch, table)


def _of_added(definition: Definition, batch: Struct, table: TargetTable, added: Sequence[ColumnDifference]) -> Found:
    names = [dotted(difference.path) for difference in added]
    if not definition.merges_schema:
        remedy = "Set the option mergeSchema to add them, or leave them out with the step “select”."
        if definition.output_mode == COMPLETE:
            remedy = "Set the option mergeSchema to add them, or overwriteSchema to replace the table’s schema; or leave them out."
        text = f"The batch has columns that the table doesn’t have: {listed(names)}."
        yield Refusal("DELTA_METADATA_MISMATCH", text, names[0], remedy)
        return
    if not _repartitions(definition, batch, table):
        yield StreamNote(
            "columns_added",
            f"The table gets new columns (mergeSchema): {listed(names)}. They are NULL in the rows that it has.",
        )
    new = [(difference.path, difference.column) for difference in added if difference.column is not None]
    below = [(path, column) for top, start in new for path, column in _with_below(top, start)]
    yield from bad_names([*walk(table.struct), *below], mapped=table.is_mapped)
    yield from incompatible(Struct(tuple(column for _, column in new)), table)
    yield from reserved([column for path, column in new if len(path) == 1], table)
    yield from feature(Struct(tuple(column for _, column in new)), table)
    if all(len(path) == 1 for path, _ in new):
        wider = Struct((*table.struct.columns, *(column for _, column in new)))
        yield from metadata(wider, table.partition_columns, table)


def _with_below(path: Path, column: Column) -> Iterator[tuple[Path, Column]]:
    for below, inner in walk(Struct((column,))):
        yield (*path[:-1], *below), inner


def _of_partitioning(definition: Definition, batch: Struct, table: TargetTable) -> Found:
    if _repartitions(definition, batch, table):
        text = (
            f"The stream partitions by {listed(definition.partition_by)}, the table by {listed(table.partition_columns) or 'nothing'}:"
            " they must be the same columns in the same order."
        )
        remedy = "Leave the partition columns out: a batch follows the table’s own."
        yield Refusal("DELTA_METADATA_MISMATCH", text, "partition_by", remedy)


def _repartitions(definition: Definition, batch: Struct, table: TargetTable) -> bool:
    """Whether the stream names other partition columns than the table has. None at all means the table's."""
    given = [name.lower() for name in definition.partition_by]
    return bool(given) and given != [name.lower() for name in table.partition_columns]


def _absent(columns: Sequence[Column], batch: Struct, above: Path, table: TargetTable) -> Found:
    """Columns of the table that the batch doesn't have. Below arrays and maps Delta fills with NULL and checks nothing."""
    filled = []
    for column in columns:
        path = (*above, column.name)
        given = batch.column(column.name)
        if given is not None:
            if isinstance(column.type, Struct) and isinstance(given.type, Struct):
                yield from _absent(column.type.columns, given.type, path, table)
            continue
        found = list(_missing(column, path, batch, table))
        yield from found
        if not found:
            filled.append(dotted(path))
    if filled:
        yield StreamNote("filled_with_null", f"The batch doesn’t have {listed(filled)}: the new rows have NULL there.")


def _missing(column: Column, path: Path, batch: Struct, table: TargetTable) -> Found:
    name = dotted(path)
    if column.identity is not None:
        yield StreamNote("identity_computed", f"{name} is an identity column: Delta gives each row its value.")
        yield from metadata(table.struct, table.partition_columns, table)  # it keeps the highest one in the schema
    elif column.generation_expression is not None:
        yield from _computed(column, batch, table)
    elif column.default is not None and len(path) == 1:
        yield StreamNote(
            "filled_with_default", f"The batch doesn’t have {name}: the new rows have its default, {column.default}."
        )
    elif len(path) == 1 and column.name.lower() in [partition.lower() for partition in table.partition_columns]:
        text = f"The table is partitioned by {name}, and the batch doesn’t have it."
        yield Refusal("DELTA_PARTITION_COLUMN_NOT_FOUND", text, name, _supply(name))
    elif required := _required(column, path):
        shown = dotted(required)
        text = f"{shown} can’t be NULL in the table, and the batch doesn’t have it."
        yield Refusal("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", text, shown, _supply(shown))


def _supply(name: str) -> str:
    return f"Give the source a column {name}, or rename one with the step “rename”."


def _required(column: Column, path: Path) -> Path | None:
    """The first column that can't be NULL: it or, as Delta has it even where the struct above may be NULL, one below it."""
    if not column.nullable:
        return path
    below = column.type.columns if isinstance(column.type, Struct) else ()
    return next((found for inner in below if (found := _required(inner, (*path, inner.name)))), None)


def _computed(column: Column, batch: Struct, table: TargetTable) -> Found:
    expression = column.generation_expression or ""
    words = {word.lower() for word in re.findall(r"\w+", expression)}
    lacking = [
        other.name
        for other in table.struct.columns
        if other.name.lower() in words and other is not column and batch.column(other.name) is None
    ]
    if lacking:
        text = f"{column.name} is generated ({expression}), and the batch doesn’t have {listed(lacking)}: {UNSURE}."
        yield StreamNote("generated_unsure", text)
    else:
        yield StreamNote("generated_computed", f"{column.name} is generated: Delta computes it ({expression}).")


def _given(batch: Struct, table: TargetTable) -> Found:
    """Columns that both have and whose values Delta checks."""
    both = [column for column in table.struct.columns if batch.column(column.name) is not None]
    for column in both:
        if column.generation_expression is not None:
            text = (
                f"{column.name} is generated, and the batch has it: each value must be what Delta would compute"
                f" ({column.generation_expression}), or the batch fails (DELTA_VIOLATE_CONSTRAINT_WITH_VALUES)."
            )
            yield StreamNote("generated_checked", text)
        if column.identity and column.identity.allow_explicit:
            text = f"{column.name} is an identity column: the batch’s values are taken as they are, also ones that it has already."
            yield StreamNote("identity_given", text)
        limit = column.metadata.get(_CHAR_VARCHAR)
        if isinstance(limit, str) and isinstance(column.type, Primitive):
            text = f"{column.name} is {limit}: a longer text fails the batch (DELTA_EXCEED_CHAR_VARCHAR_LIMIT)."
            yield StreamNote("length_checked", text)
    required = [column.name for column in both if not column.nullable]
    if required:
        text = f"{listed(required)} can’t be NULL: a row with NULL there fails the batch (DELTA_NOT_NULL_CONSTRAINT_VIOLATED)."
        yield StreamNote("not_null_checked", text)
