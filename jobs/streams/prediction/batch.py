"""What a batch is refused for, or tells, whatever its target."""

from __future__ import annotations

from jobs.commands.stream_round.rules import COMPLETE, Definition, TableSource, is_on
from jobs.domain.errors import Refusal
from jobs.streams.prediction.values import Found, StreamNote, holds
from tables.deltalog.rules.schema import Struct, dotted, walk


def of_mode(definition: Definition) -> Found:
    """Spark's own check when the query starts (UnsupportedOperationChecker)."""
    counts = definition.steps.count_as is not None
    code = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
    if definition.output_mode == COMPLETE and not counts:
        text = "Complete mode writes the result of an aggregation, and this stream has none."
        yield Refusal(code, text, "output_mode", "Add the step “aggregate”, or write in Append mode.")
    if definition.output_mode != COMPLETE and counts:
        text = "Append mode can’t write an aggregation without a watermark: its rows are never final."
        yield Refusal(code, text, "output_mode", "Write in Complete mode, or leave out the step “aggregate”.")


def of_batch(definition: Definition, batch: Struct) -> Found:
    yield from _of_partition_names(definition, batch)
    for path, column in walk(batch):
        if holds(column.type, "void"):
            text = f"{dotted(path)} is of type void, which Delta takes in no streaming write."
            remedy = "Cast it to a type, or leave it out with the step “select”."
            yield Refusal("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE", text, dotted(path), remedy)
            break
    if is_on(definition.options.get("overwriteSchema")) and not definition.overwrites_schema:
        yield StreamNote(
            "overwrite_schema_ignored",
            "overwriteSchema has no effect in Append mode: Delta heeds it in Complete mode alone.",
        )
    if isinstance(definition.source, TableSource) and definition.source.path == definition.path:
        text = "The stream reads the table that it writes: a later round reads what an earlier one wrote."
        yield StreamNote("reads_itself", text)


def _of_partition_names(definition: Definition, batch: Struct) -> Found:
    seen: set[str] = set()
    for name in definition.partition_by:
        if batch.column(name) is None:
            there = ", ".join(column.name for column in batch.columns)
            text = f"The batch can’t be partitioned by {name}: it has no such column ({there})."
            yield Refusal(
                "partition_column_unknown", text, "partition_by", "Name columns as they are after the last step."
            )
        if name.lower() in seen:
            text = f"{name} is named twice among the partition columns."
            yield Refusal(
                "DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS", text, "partition_by", "Name each column once."
            )
        seen.add(name.lower())
