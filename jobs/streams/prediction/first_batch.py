"""What a stream's first batch would do to its target, by Delta's rules for streaming writes.

The order and the rules are DeltaSink's (`addBatch`, `getWriteSchema`, `castDataIfNeeded`), ImplicitMetadataOperation's
(`updateMetadata`) and SchemaMergingUtils' (`mergeSchemas`) of Delta 4.4.0; each was run on PySpark 4.2.0 with the released jars.
Where the rules leave something open, a note says that Delta decides when the batch runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.commands.stream_round.rules import COMPLETE, Definition
from jobs.domain.consequences import listed
from jobs.domain.delta.readers import unseen_by
from jobs.domain.errors import CommandRefused, Refusal
from jobs.streams.prediction.batch import of_batch, of_mode
from jobs.streams.prediction.merging import merging
from jobs.streams.prediction.new_columns import bad_names, creating, feature, metadata, new_layout, reserved
from jobs.streams.prediction.values import (
    UNSURE,
    ExistingTable,
    Found,
    Outcome,
    StreamNote,
    StreamPrediction,
    TargetTable,
    tree_of,
)
from jobs.streams.steps import after_steps
from tables.deltalog.rules.other_formats import other_formats
from tables.deltalog.rules.schema import Struct, type_text, walk


def predict(definition: Definition, source_struct: Mapping[str, Any], target: ExistingTable | None) -> StreamPrediction:
    """What the first batch would do to the target; None is a table that isn't there yet, which the batch creates.

    `source_struct` is the source's schema before the stream's steps. Raises nothing for a schema that `parse_source_schema` or a
    table's log gave; SchemaError for anything else.
    """
    try:
        batch = tree_of(after_steps(source_struct, definition.steps))
    except CommandRefused as refused:
        return StreamPrediction("refused", refused.refusals)
    found = list(of_mode(definition)) + list(of_batch(definition, batch))
    if target is None:
        found += creating(definition, batch)
    else:
        found += _writing(definition, batch, TargetTable.of(target))
    refusals = tuple(item for item in found if isinstance(item, Refusal))
    notes = tuple(item for item in found if isinstance(item, StreamNote))
    return StreamPrediction("refused" if refusals else _outcome(definition, target), refusals, notes)


def _outcome(definition: Definition, target: ExistingTable | None) -> Outcome:
    if target is None:
        return "creates"
    return "replaces" if definition.output_mode == COMPLETE else "appends"


def _writing(definition: Definition, batch: Struct, table: TargetTable) -> Found:
    yield from _identities(batch, table)
    if definition.overwrites_schema:
        yield from _overwriting(definition, batch, table)
    else:
        yield from merging(definition, batch, table)
    if definition.output_mode == COMPLETE and table.is_on("delta.appendOnly"):
        text = "The table takes new rows only (delta.appendOnly), and Complete mode removes its rows with every batch."
        yield Refusal(
            "DELTA_CANNOT_MODIFY_APPEND_ONLY", text, "output_mode", "Write in Append mode, or into another table."
        )
    yield from _constraints(batch, table)
    for each in unseen_by(other_formats(table.configuration)):
        yield StreamNote(each["code"], each["text"])


def _identities(batch: Struct, table: TargetTable) -> Found:
    """IdentityColumn.blockExplicitIdentityColumnInsert: before schemas are looked at, so with overwriteSchema too."""
    for column in table.struct.columns:
        if column.identity and not column.identity.allow_explicit and batch.column(column.name) is not None:
            text = f"{column.name} is GENERATED ALWAYS AS IDENTITY: Delta alone gives its values."
            remedy = f"Leave {column.name} out with the step “select”."
            yield Refusal("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", text, column.name, remedy)


def _constraints(batch: Struct, table: TargetTable) -> Found:
    if table.constraints:
        text = (
            f"Every row must meet the table’s CHECK constraints ({listed(table.constraints)}); one that doesn’t fails the batch"
            " (DELTA_VIOLATE_CONSTRAINT_WITH_VALUES). A column that the batch doesn’t have is NULL to them."
        )
        yield StreamNote("check_constraints", text)


def _overwriting(definition: Definition, batch: Struct, table: TargetTable) -> Found:
    """Complete with overwriteSchema: the batch's schema and partitioning take the place of the table's, without a merge."""
    yield from new_layout(definition, batch)
    yield from bad_names(walk(batch), mapped=table.is_mapped)
    yield from reserved(batch.columns, table)
    yield from feature(batch, table)
    if not _same(batch, table.struct):
        yield StreamNote("schema_replaced", _replaced_text(batch, table.struct))
    given = [column.name for name in definition.partition_by if (column := batch.column(name)) is not None]
    yield from metadata(batch, given, table)
    if given != list(table.partition_columns):
        before = f"by {listed(table.partition_columns)}" if table.partition_columns else "not at all"
        after = f"by {listed(given)}" if given else "not at all"
        text = f"The table is partitioned {before} now and {after} after the batch: with overwriteSchema its partitioning is the stream’s."
        yield StreamNote("partitioning_replaced", text)
    if "clustering" in (table.features or ()):
        text = f"The table is clustered. Whether its clustering columns outlast a change of its schema, {UNSURE}."
        yield StreamNote("clustering", text)


def _replaced_text(batch: Struct, table: Struct) -> str:
    gone = [column.name for column in table.columns if batch.column(column.name) is None]
    added = [column.name for column in batch.columns if table.column(column.name) is None]
    parts = [
        "The batch’s schema takes the place of the table’s, and with it go its comments, defaults, NOT NULL and generated columns."
    ]
    if gone:
        parts.append(f"Gone: {listed(gone)}.")
    if added:
        parts.append(f"New: {listed(added)}.")
    return " ".join(parts)


def _same(batch: Struct, table: Struct) -> bool:
    """As Delta compares: names, types, order and metadata; what a batch brings may be NULL throughout."""
    plain = all(column.nullable and not column.metadata for _, column in walk(table))
    return plain and type_text(batch) == type_text(table)
