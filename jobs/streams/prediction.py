"""What a stream's first batch would do to its target, by Delta's rules for streaming writes.

The order and the rules are DeltaSink's (`addBatch`, `getWriteSchema`, `castDataIfNeeded`), ImplicitMetadataOperation's
(`updateMetadata`) and SchemaMergingUtils' (`mergeSchemas`) of Delta 4.4.0; each was run on PySpark 4.2.0 with the released jars.
Where the rules leave something open, a note says that Delta decides when the batch runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from jobs.commands.stream_round.rules import COMPLETE, Definition, TableSource, is_on
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates.typenames import FLOATS, INTEGERS, decimal_parts, family
from jobs.streams.source_schema import after_steps
from tables.deltalog.rules.schema import (
    Array,
    Column,
    Map,
    Primitive,
    Struct,
    Type,
    dotted,
    parse_schema,
    type_text,
    walk,
)

Outcome = Literal["creates", "appends", "replaces", "refused"]
Path = tuple[str, ...]

_CHANGE_FEED_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
_BAD_CHARACTERS = frozenset(" ,;{}()\n\t=")
_CONSTRAINT = "delta.constraints."
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_NTZ = "timestamp_ntz"
_UNSURE = "Delta decides when the batch runs"
# Digits before the point that a whole number's type can need; Delta's decimals have 38 in all.
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# Whole numbers that a float or a double holds exactly.
_EXACT_IN = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int")}
_FAILED_TASK = "fails the batch (TASK_WRITE_FAILED inside STREAM_FAILED)"


@dataclass(frozen=True, slots=True)
class Target:
    """The table that is there: its struct as JSON with all metadata, and its metadata's partition columns and properties.

    `features` are the names of its protocol's table features, those of legacy versions too; None if the caller doesn't know them.
    """

    schema: Mapping[str, Any]
    partition_columns: Sequence[str] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something that follows from the batch, as a sentence; `code` is stable."""

    code: str
    text: str

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "text": self.text}


@dataclass(frozen=True, slots=True)
class Prediction:
    """`refusals` are all that were found, the one that Spark or Delta would raise first at the front; `refused` has one at least."""

    outcome: Outcome
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome,
            "refusals": [refusal.as_json() for refusal in self.refusals],
            "notes": [note.as_json() for note in self.notes],
        }


def predict(definition: Definition, source_struct: Mapping[str, Any], target: Target | None) -> Prediction:
    """What the first batch would do to the target; None is a table that isn't there yet, which the batch creates.

    `source_struct` is the source's schema before the stream's steps. Raises nothing for a schema that `parse_source_schema` or a
    table's log gave; SchemaError for anything else.
    """
    try:
        batch = _struct(after_steps(source_struct, definition.steps))
    except CommandRefused as refused:
        return Prediction("refused", refused.refusals)
    found = list(_of_mode(definition)) + list(_of_batch(definition, batch))
    if target is None:
        found += _creating(definition, batch)
    else:
        found += _writing(definition, batch, _Table.of(target))
    refusals = tuple(item for item in found if isinstance(item, Refusal))
    notes = tuple(item for item in found if isinstance(item, Note))
    return Prediction("refused" if refusals else _outcome(definition, target), refusals, notes)


Found = Iterator[Refusal | Note]


@dataclass(frozen=True, slots=True)
class _Table:
    """A target as trees."""

    struct: Struct
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    features: Sequence[str] | None

    @classmethod
    def of(cls, target: Target) -> _Table:
        return cls(_struct(target.schema), tuple(target.partition_columns), target.configuration, target.features)

    def is_on(self, name: str) -> bool:
        return is_on(self.configuration.get(name))

    @property
    def is_mapped(self) -> bool:
        """Whether columns are found by physical names or ids, so that any character may stand in a name."""
        return self.configuration.get("delta.columnMapping.mode", "none").lower() in ("name", "id")

    @property
    def constraints(self) -> list[str]:
        return sorted(name.removeprefix(_CONSTRAINT) for name in self.configuration if name.startswith(_CONSTRAINT))


def _struct(value: Mapping[str, Any]) -> Struct:
    return parse_schema(json.dumps(value))


def _outcome(definition: Definition, target: Target | None) -> Outcome:
    if target is None:
        return "creates"
    return "replaces" if definition.output_mode == COMPLETE else "appends"


# What doesn't depend on the target


def _of_mode(definition: Definition) -> Found:
    """Spark's own check when the query starts (UnsupportedOperationChecker)."""
    counts = definition.steps.count_as is not None
    code = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
    if definition.output_mode == COMPLETE and not counts:
        text = "Complete mode writes the result of an aggregation, and this stream has none."
        yield Refusal(code, text, "output_mode", "Add the step “aggregate”, or write in Append mode.")
    if definition.output_mode != COMPLETE and counts:
        text = "Append mode can’t write an aggregation without a watermark: its rows are never final."
        yield Refusal(code, text, "output_mode", "Write in Complete mode, or leave out the step “aggregate”.")


def _of_batch(definition: Definition, batch: Struct) -> Found:
    yield from _of_partition_names(definition, batch)
    for path, column in walk(batch):
        if _holds(column.type, "void"):
            text = f"{dotted(path)} is of type void, which Delta takes in no streaming write."
            remedy = "Cast it to a type, or leave it out with the step “select”."
            yield Refusal("DELTA_NULL_SCHEMA_IN_STREAMING_WRITE", text, dotted(path), remedy)
            break
    if is_on(definition.options.get("overwriteSchema")) and not definition.overwrites_schema:
        yield Note(
            "overwrite_schema_ignored",
            "overwriteSchema has no effect in Append mode: Delta heeds it in Complete mode alone.",
        )
    if isinstance(definition.source, TableSource) and definition.source.path == definition.path:
        text = "The stream reads the table that it writes: a later round reads what an earlier one wrote."
        yield Note("reads_itself", text)


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


def _holds(kind: Type, name: str) -> bool:
    """Whether a type is, or an array or map has below it, a simple type; a struct's fields have paths of their own."""
    if isinstance(kind, Array):
        return _holds(kind.element, name)
    if isinstance(kind, Map):
        return _holds(kind.key, name) or _holds(kind.value, name)
    return isinstance(kind, Primitive) and kind.name == name


# A table that the batch creates, or whose schema it replaces


def _creating(definition: Definition, batch: Struct) -> Found:
    yield from _new_layout(definition, batch)
    yield from _bad_names(batch, walk(batch), mapped=False)
    required = [
        dotted(path) for path, column in walk(batch) if not column.nullable and column.name != definition.steps.count_as
    ]
    if required:
        text = f"{_listed(required)} may be NULL in the new table: a table that a stream creates has no NOT NULL."
        yield Note("not_null_dropped", text)
    if _uses(batch, _NTZ):
        text = "The new table needs the table feature timestampNtz: readers that don’t know it can’t read the table."
        yield Note("needs_feature", text)


def _new_layout(definition: Definition, batch: Struct) -> Found:
    """PartitionUtils.validatePartitionColumn: types first, then whether any column is left for the files."""
    partitions = [column for name in definition.partition_by if (column := batch.column(name)) is not None]
    for column in partitions:
        if not isinstance(column.type, Primitive) or column.type.name == "variant":
            text = (
                f"{column.name} is {type_text(column.type)}: Delta partitions by no arrays, maps, structs and variants."
            )
            yield Refusal("DELTA_INVALID_PARTITION_COLUMN_TYPE", text, "partition_by", "Partition by another column.")
    if partitions and len(definition.partition_by) == len(batch.columns):
        text = "All columns of the batch are partition columns: none is left for the files."
        remedy = "Leave one column out of the partition columns."
        yield Refusal("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", text, "partition_by", remedy)


def _bad_names(batch: Struct, columns: Iterable[tuple[Path, Column]], *, mapped: bool) -> Found:
    bad = [] if mapped else [dotted(path) for path, column in columns if _BAD_CHARACTERS.intersection(column.name)]
    if bad:
        text = f"{_listed(bad)}: a name may hold none of the characters “ ,;{{}}()=”, tab and line end unless the table maps its columns."
        remedy = "Rename the columns with the step “rename”, or turn on column mapping for the table (delta.columnMapping.mode)."
        yield Refusal("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", text, bad[0], remedy)


def _uses(struct: Struct, name: str) -> bool:
    return any(_holds(column.type, name) for _, column in walk(struct))


# A table that is there


def _writing(definition: Definition, batch: Struct, table: _Table) -> Found:
    yield from _identities(batch, table)
    if definition.overwrites_schema:
        yield from _overwriting(definition, batch, table)
    else:
        yield from _merging(definition, batch, table)
    if definition.output_mode == COMPLETE and table.is_on("delta.appendOnly"):
        text = "The table takes new rows only (delta.appendOnly), and Complete mode removes its rows with every batch."
        yield Refusal(
            "DELTA_CANNOT_MODIFY_APPEND_ONLY", text, "output_mode", "Write in Append mode, or into another table."
        )
    yield from _constraints(batch, table)


def _identities(batch: Struct, table: _Table) -> Found:
    """IdentityColumn.blockExplicitIdentityColumnInsert: before schemas are looked at, so with overwriteSchema too."""
    for column in table.struct.columns:
        if column.identity and not column.identity.allow_explicit and batch.column(column.name) is not None:
            text = f"{column.name} is GENERATED ALWAYS AS IDENTITY: Delta alone gives its values."
            remedy = f"Leave {column.name} out with the step “select”."
            yield Refusal("DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", text, column.name, remedy)


def _constraints(batch: Struct, table: _Table) -> Found:
    if table.constraints:
        text = (
            f"Every row must meet the table’s CHECK constraints ({_listed(table.constraints)}); one that doesn’t fails the batch"
            " (DELTA_VIOLATE_CONSTRAINT_WITH_VALUES). A column that the batch doesn’t have is NULL to them."
        )
        yield Note("check_constraints", text)


def _overwriting(definition: Definition, batch: Struct, table: _Table) -> Found:
    """Complete with overwriteSchema: the batch's schema and partitioning take the place of the table's, without a merge."""
    yield from _new_layout(definition, batch)
    yield from _bad_names(batch, walk(batch), mapped=table.is_mapped)
    yield from _reserved(batch.columns, table)
    yield from _feature(batch, table)
    if not _same(batch, table.struct):
        yield Note("schema_replaced", _replaced_text(batch, table.struct))
    given = [column.name for name in definition.partition_by if (column := batch.column(name)) is not None]
    if given != list(table.partition_columns):
        before = f"by {_listed(table.partition_columns)}" if table.partition_columns else "not at all"
        after = f"by {_listed(given)}" if given else "not at all"
        text = f"The table is partitioned {before} now and {after} after the batch: with overwriteSchema its partitioning is the stream’s."
        yield Note("partitioning_replaced", text)
    if "clustering" in (table.features or ()):
        text = f"The table is clustered. Whether its clustering columns outlast a change of its schema, {_UNSURE}."
        yield Note("clustering", text)


def _replaced_text(batch: Struct, table: Struct) -> str:
    gone = [column.name for column in table.columns if batch.column(column.name) is None]
    added = [column.name for column in batch.columns if table.column(column.name) is None]
    parts = [
        "The batch’s schema takes the place of the table’s, and with it go its comments, defaults, NOT NULL and generated columns."
    ]
    if gone:
        parts.append(f"Gone: {_listed(gone)}.")
    if added:
        parts.append(f"New: {_listed(added)}.")
    return " ".join(parts)


def _same(batch: Struct, table: Struct) -> bool:
    """As Delta compares: names, types, order and metadata; what a batch brings may be NULL throughout."""
    plain = all(column.nullable and not column.metadata for _, column in walk(table))
    return plain and type_text(batch) == type_text(table)


def _merging(definition: Definition, batch: Struct, table: _Table) -> Found:
    differences = list(_differences(table.struct, batch, ()))
    for difference in differences:
        yield from _of_type(difference, definition, table)
    added = [difference for difference in differences if difference.kind == "added"]
    if added:
        yield from _of_added(definition, batch, table, added)
    yield from _of_partitioning(definition, batch, table)
    yield from _absent(table.struct.columns, batch, (), table)
    yield from _given(batch, table)


# Types


@dataclass(frozen=True, slots=True)
class _Difference:
    """`added` (only the batch has it), `cast`, `clash` or `unsure`; `of_table` and `of_batch` are types, None where there is none."""

    kind: Literal["added", "cast", "clash", "unsure"]
    path: Path
    of_batch: Type
    of_table: Type | None = None
    column: Column | None = None


def _differences(table: Type, batch: Type, path: Path) -> Iterator[_Difference]:
    """SchemaMergingUtils.mergeSchemas with implicit conversions: structs, arrays and maps field by field, simple types by casts."""
    match table, batch:
        case Struct(), Struct(columns):
            for column in columns:
                mine = table.column(column.name)
                below = (*path, mine.name if mine else column.name)
                if mine is None:
                    yield _Difference("added", below, column.type, column=column)
                else:
                    yield from _differences(mine.type, column.type, below)
        case Array(element), Array(other):
            yield from _differences(element, other, (*path, "element"))
        case Map(key, value), Map(other_key, other_value):
            yield from _differences(key, other_key, (*path, "key"))
            yield from _differences(value, other_value, (*path, "value"))
        case Primitive(), Primitive() if type_text(table) == type_text(batch):
            return
        case Primitive(), Primitive():
            kind: Literal["cast", "clash", "unsure"] = _castable(type_text(batch), type_text(table))
            yield _Difference(kind, path, batch, table)
        case _:
            yield _Difference("clash", path, batch, table)


def _castable(source: str, target: str) -> Literal["cast", "clash", "unsure"]:
    """Spark's TypeCoercion.implicitCast, which Delta asks whatever the ANSI mode. Types that aren't known here stay open."""
    if "variant" in (source, target):
        return "cast" if target == "string" else "clash"
    one, other = family(source), family(target)
    if one is None or other is None or "null" in (one, other):
        return "unsure"
    takes = {"text": ("number", "time", "binary", "text"), "number": ("number", "text"), "time": ("time", "text")}
    return "cast" if other in takes.get(one, ("text",)) else "clash"


def _of_type(difference: _Difference, definition: Definition, table: _Table) -> Found:
    if difference.kind == "added" or difference.of_table is None:
        return
    name, source, target = dotted(difference.path), type_text(difference.of_batch), type_text(difference.of_table)
    change = f"{name}: {source} → {target}"
    if difference.kind == "clash":
        text = f"{name} is {source} in the batch and {target} in the table, and Delta casts neither to the other."
        remedy = f"Cast {difference.path[0]} with the step “cast”, or leave it out with the step “select”."
        yield Refusal("DELTA_FAILED_TO_MERGE_FIELDS", text, name, remedy)
    elif difference.kind == "unsure":
        yield Note("type_unsure", f"{change}: {_UNSURE}.")
    elif _may_widen(source, target, definition, table):
        text = f"{change}: type widening is on and the stream may change the schema, so the column may get a wider type; {_UNSURE}."
        yield Note("may_widen", text)
    else:
        yield Note("implicit_cast", f"{change}: values are cast as they are written. {_what_happens(source, target)}")


def _may_widen(source: str, target: str, definition: Definition, table: _Table) -> bool:
    if not (definition.merges_schema and table.is_on("delta.enableTypeWidening")) or _fits(source, target):
        return False
    return family(source) == family(target) and family(source) in ("number", "time")


def _fits(source: str, target: str) -> bool:
    """Whether every number of one type is a number of the other."""
    if source in INTEGERS and target in INTEGERS:
        return INTEGERS.index(source) <= INTEGERS.index(target)
    if target in FLOATS:
        return source in _EXACT_IN[target] or (source, target) == ("float", "double")
    if not target.startswith("decimal") or source in FLOATS or family(source) != "number":
        return False
    digits, scale = decimal_parts(target)
    if source in INTEGERS:
        return _WHOLE_DIGITS[source] <= digits - scale
    own_digits, own_scale = decimal_parts(source)
    return own_digits - own_scale <= digits - scale and own_scale <= scale


def _what_happens(source: str, target: str) -> str:
    """What becomes of values that aren't at home in the table's type."""
    one, other = family(source), family(target)
    if other == "text":
        return "Each becomes its text."
    if one == "text" and other == "number":
        bad = f"A text that is no {'number' if target.startswith('decimal') else target} {_FAILED_TASK} with CAST_INVALID_INPUT"
        if not target.startswith("decimal"):
            return f"{bad}."
        return f"{bad}, one that is too large with CAST_OVERFLOW_IN_TABLE_INSERT. Digits beyond the scale are rounded."
    if one == "text" and other == "time":
        return f"A text that is no {target} {_FAILED_TASK} with CAST_INVALID_INPUT."
    if one == "text":
        return "Each becomes the bytes of its text."
    if one == "time":
        return "A date becomes its midnight, a moment loses its time of day to become a date; time zones are the session’s."
    return _number_to_number(source, target)


def _number_to_number(source: str, target: str) -> str:
    if _fits(source, target):
        return "Every value fits."
    if target in FLOATS:
        return f"A value that {target} can’t hold exactly becomes one near to it."
    lost = ""
    if target in INTEGERS and source not in INTEGERS:
        lost = " Digits after the point are cut off."
    elif target.startswith("decimal") and source not in INTEGERS:
        lost = " Digits beyond the scale are rounded."
    return f"A value that is too large {_FAILED_TASK} with CAST_OVERFLOW_IN_TABLE_INSERT.{lost}"


# Columns that only one side has


def _of_added(definition: Definition, batch: Struct, table: _Table, added: Sequence[_Difference]) -> Found:
    names = [dotted(difference.path) for difference in added]
    if not definition.merges_schema:
        remedy = "Set the option mergeSchema to add them, or leave them out with the step “select”."
        if definition.output_mode == COMPLETE:
            remedy = "Set the option mergeSchema to add them, or overwriteSchema to replace the table’s schema; or leave them out."
        text = f"The batch has columns that the table doesn’t have: {_listed(names)}."
        yield Refusal("DELTA_METADATA_MISMATCH", text, names[0], remedy)
        return
    if not _repartitions(definition, batch, table):
        yield Note(
            "columns_added",
            f"The table gets new columns (mergeSchema): {_listed(names)}. They are NULL in the rows that it has.",
        )
    new = [(difference.path, difference.column) for difference in added if difference.column is not None]
    below = [(path, column) for top, start in new for path, column in _with_below(top, start)]
    yield from _bad_names(batch, below, mapped=table.is_mapped)
    yield from _reserved([column for path, column in new if len(path) == 1], table)
    yield from _feature(Struct(tuple(column for _, column in new)), table)


def _with_below(path: Path, column: Column) -> Iterator[tuple[Path, Column]]:
    for below, inner in walk(Struct((column,))):
        yield (*path[:-1], *below), inner


def _reserved(columns: Iterable[Column], table: _Table) -> Found:
    """Delta compares these names as they are written [run: `_Change_Type` is taken]."""
    if not table.is_on("delta.enableChangeDataFeed"):
        return
    used = [column.name for column in columns if column.name in _CHANGE_FEED_COLUMNS]
    if used:
        text = f"{_listed(used)}: the table has its change data feed on, which keeps these names for itself."
        yield Refusal("RESERVED_CDC_COLUMNS_ON_WRITE", text, used[0], "Rename the columns with the step “rename”.")


def _feature(new: Struct, table: _Table) -> Found:
    """Delta adds timestampNtz to a new table by itself, but not to one that is there."""
    if not _uses(new, _NTZ) or _uses(table.struct, _NTZ) or "timestampNtz" in (table.features or ()):
        return
    if table.features is None:
        yield Note("needs_feature", f"A column of type timestamp_ntz takes the table feature timestampNtz: {_UNSURE}.")
        return
    text = "A new column is of type timestamp_ntz, and the table doesn’t have the feature that it takes, timestampNtz."
    remedy = "Enable the feature (delta.feature.timestampNtz = supported), or cast the column to timestamp."
    yield Refusal("DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT", text, _NTZ, remedy)


def _of_partitioning(definition: Definition, batch: Struct, table: _Table) -> Found:
    if _repartitions(definition, batch, table):
        text = (
            f"The stream partitions by {_listed(definition.partition_by)}, the table by {_listed(table.partition_columns) or 'nothing'}:"
            " they must be the same columns in the same order."
        )
        remedy = "Leave the partition columns out: a batch follows the table’s own."
        yield Refusal("DELTA_METADATA_MISMATCH", text, "partition_by", remedy)


def _repartitions(definition: Definition, batch: Struct, table: _Table) -> bool:
    """Whether the stream names other partition columns than the table has. None at all means the table's."""
    given = [name.lower() for name in definition.partition_by]
    return bool(given) and given != [name.lower() for name in table.partition_columns]


def _absent(columns: Sequence[Column], batch: Struct, above: Path, table: _Table) -> Found:
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
        yield Note("filled_with_null", f"The batch doesn’t have {_listed(filled)}: the new rows have NULL there.")


def _missing(column: Column, path: Path, batch: Struct, table: _Table) -> Found:
    name = dotted(path)
    if column.identity is not None:
        yield Note("identity_computed", f"{name} is an identity column: Delta gives each row its value.")
    elif column.generation_expression is not None:
        yield from _computed(column, batch, table)
    elif column.default is not None and len(path) == 1:
        yield Note(
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


def _computed(column: Column, batch: Struct, table: _Table) -> Found:
    expression = column.generation_expression or ""
    words = {word.lower() for word in re.findall(r"\w+", expression)}
    lacking = [
        other.name
        for other in table.struct.columns
        if other.name.lower() in words and other is not column and batch.column(other.name) is None
    ]
    if lacking:
        text = f"{column.name} is generated ({expression}), and the batch doesn’t have {_listed(lacking)}: {_UNSURE}."
        yield Note("generated_unsure", text)
    else:
        yield Note("generated_computed", f"{column.name} is generated: Delta computes it ({expression}).")


def _given(batch: Struct, table: _Table) -> Found:
    """Columns that both have and whose values Delta checks."""
    both = [column for column in table.struct.columns if batch.column(column.name) is not None]
    for column in both:
        if column.generation_expression is not None:
            text = (
                f"{column.name} is generated, and the batch has it: each value must be what Delta would compute"
                f" ({column.generation_expression}), or the batch fails (DELTA_VIOLATE_CONSTRAINT_WITH_VALUES)."
            )
            yield Note("generated_checked", text)
        if column.identity and column.identity.allow_explicit:
            text = f"{column.name} is an identity column: the batch’s values are taken as they are, also ones that it has already."
            yield Note("identity_given", text)
        limit = column.metadata.get(_CHAR_VARCHAR)
        if isinstance(limit, str) and isinstance(column.type, Primitive):
            text = f"{column.name} is {limit}: a longer text fails the batch (DELTA_EXCEED_CHAR_VARCHAR_LIMIT)."
            yield Note("length_checked", text)
    required = [column.name for column in both if not column.nullable]
    if required:
        text = f"{_listed(required)} can’t be NULL: a row with NULL there fails the batch (DELTA_NOT_NULL_CONSTRAINT_VIOLATED)."
        yield Note("not_null_checked", text)


def _listed(names: Sequence[str], most: int = 20) -> str:
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
