"""What Delta checks of columns that are new to a table: all of one that the batch creates, those that a schema gains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobs.commands.stream_round.rules import Definition
from jobs.domain.consequences import listed
from jobs.domain.delta.column_names import is_invalid
from jobs.domain.errors import Refusal
from jobs.streams.prediction.values import NTZ, UNSURE, Found, Path, StreamNote, TargetTable, uses
from tables.deltalog.rules.iceberg_types import compat_version, incompatible_type
from tables.deltalog.rules.schema import Column, Primitive, Struct, dotted, type_text, walk
from tables.deltalog.rules.schema_limits import Use, first_limit
from tables.rules.column_statistics import LIST_REMEDY, STATS_COLUMNS, listed_fault

_CHANGE_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")


def creating(definition: Definition, batch: Struct) -> Found:
    yield from new_layout(definition, batch)
    yield from bad_names(walk(batch), mapped=False)
    yield from unsupported(batch)
    required = [
        dotted(path) for path, column in walk(batch) if not column.nullable and column.name != definition.steps.count_as
    ]
    if required:
        text = f"{listed(required)} may be NULL in the new table: a table that a stream creates has no NOT NULL."
        yield StreamNote("not_null_dropped", text)
    if uses(batch, NTZ):
        text = "The new table needs the table feature timestampNtz: readers that don’t know it can’t read the table."
        yield StreamNote("needs_feature", text)


def new_layout(definition: Definition, batch: Struct) -> Found:
    """PartitionUtils.validatePartitionColumn: types first, then whether any column is left for the files."""
    partitions = [column for name in definition.partition_by if (column := batch.column(name)) is not None]
    for column in partitions:
        if not isinstance(column.type, Primitive) or column.type.name == "variant":
            text = f"{column.name} is {type_text(column.type)}: Delta can’t partition by arrays, maps, structs and variants."
            yield Refusal("DELTA_INVALID_PARTITION_COLUMN_TYPE", text, "partition_by", "Partition by another column.")
    if partitions and len(definition.partition_by) == len(batch.columns):
        text = "All columns of the batch are partition columns: none is left for the files."
        remedy = "Leave one column out of the partition columns."
        yield Refusal("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", text, "partition_by", remedy)


def bad_names(columns: Iterable[tuple[Path, Column]], *, mapped: bool) -> Found:
    """Delta looks at the whole schema that a commit of metadata would give the table."""
    bad = [] if mapped else [dotted(path) for path, column in columns if is_invalid(column.name)]
    if bad:
        text = f"{listed(bad)}: a name may hold none of the characters “ ,;{{}}()=”, tab and line end unless the table maps its columns."
        remedy = "Rename the columns with the step “rename”, or turn on column mapping for the table (delta.columnMapping.mode)."
        yield Refusal("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", text, bad[0], remedy)


def reserved(columns: Iterable[Column], table: TargetTable) -> Found:
    """Delta compares these names as they are written [run: `_Change_Type` is taken]."""
    if not table.is_on("delta.enableChangeDataFeed"):
        return
    used = [column.name for column in columns if column.name in _CHANGE_FEED_COLUMNS]
    if used:
        text = f"{listed(used)}: the table has its change data feed on, which keeps these names for itself."
        yield Refusal("RESERVED_CDC_COLUMNS_ON_WRITE", text, used[0], "Rename the columns with the step “rename”.")


def incompatible(new: Struct, table: TargetTable) -> Found:
    """Types that the table can't have while it keeps the rules of Iceberg's readers (IcebergCompat)."""
    version = compat_version(table.configuration)
    kind = None if version is None else incompatible_type(new, version)
    if kind is not None:
        name = f"delta.enableIcebergCompatV{version}"
        text = (
            f"A new column is of type {type_text(kind)}, which a table that keeps Iceberg’s rules ({name}) can’t have."
        )
        remedy = "Cast the column to another type, or leave it out with the step “select”."
        yield Refusal("DELTA_ICEBERG_COMPAT_VIOLATION.UNSUPPORTED_DATA_TYPE", text, type_text(kind), remedy)


def metadata(struct: Struct, partitions: Sequence[str], table: TargetTable) -> Found:
    """What Delta refuses of each commit that carries metadata: columns that it can't keep, and statistics of ones that don't fit."""
    yield from unsupported(struct)
    fault = listed_fault(struct, partitions, table.configuration.get(STATS_COLUMNS, ""))
    if fault is not None:
        text = f"{STATS_COLUMNS} doesn’t fit the table: {fault.text}"
        yield Refusal(fault.condition or "invalid", text, STATS_COLUMNS, LIST_REMEDY)


def unsupported(struct: Struct) -> Found:
    """Types that Delta takes in no schema, and names that are the same to it."""
    limit = first_limit(struct, Use.METADATA)
    if limit is not None:
        text = f"The table would have {limit.text}, which Delta 4.4 takes in no new metadata."
        remedy = "Cast, rename or leave out the column in the steps; if it is the table’s own, change its schema first."
        yield Refusal(limit.conditions[Use.METADATA][0], text, remedy=remedy)


def feature(new: Struct, table: TargetTable) -> Found:
    """Delta adds timestampNtz to a new table by itself, but not to one that is there, even if another writer gave it such a column."""
    has_one = uses(table.struct, NTZ)
    if not (has_one or uses(new, NTZ)) or "timestampNtz" in (table.features or ()):
        return
    if table.features is None:
        if has_one:
            return
        yield StreamNote(
            "needs_feature", f"A column of type timestamp_ntz takes the table feature timestampNtz: {UNSURE}."
        )
        return
    which = "A column of the table" if has_one else "A new column"
    text = f"{which} is of type timestamp_ntz, and the table doesn’t have the feature that it takes, timestampNtz."
    remedy = "Enable the feature (delta.feature.timestampNtz = supported), or cast the column to timestamp."
    yield Refusal("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", text, NTZ, remedy)
