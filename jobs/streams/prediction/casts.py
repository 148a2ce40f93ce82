"""Types: where a batch's differ from the table's, and what becomes of the values that are cast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jobs.commands.stream_round.rules import Definition
from jobs.domain.errors import Refusal
from jobs.domain.predicates.typenames import FLOATS, INTEGERS, decimal_parts, family
from jobs.streams.prediction.values import UNSURE, Found, Path, StreamNote, TargetTable
from tables.deltalog.rules.schema import Array, Column, Map, Primitive, Struct, Type, dotted, type_text

# Digits before the point that a whole number's type can need; Delta's decimals have 38 in all.
_WHOLE_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# Whole numbers that a float or a double holds exactly.
_EXACT_IN = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int")}
_FAILED_TASK = "fails the batch (TASK_WRITE_FAILED inside STREAM_FAILED)"


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """`added` (only the batch has it), `cast`, `clash` or `unsure`; `of_table` and `of_batch` are types, None where there is none."""

    kind: Literal["added", "cast", "clash", "unsure"]
    path: Path
    of_batch: Type
    of_table: Type | None = None
    column: Column | None = None


def differences(table: Type, batch: Type, path: Path) -> Iterator[ColumnDifference]:
    """SchemaMergingUtils.mergeSchemas with implicit conversions: structs, arrays and maps field by field, simple types by casts."""
    match table, batch:
        case Struct(), Struct(columns):
            for column in columns:
                mine = table.column(column.name)
                below = (*path, mine.name if mine else column.name)
                if mine is None:
                    yield ColumnDifference("added", below, column.type, column=column)
                else:
                    yield from differences(mine.type, column.type, below)
        case Array(element), Array(other):
            yield from differences(element, other, (*path, "element"))
        case Map(key, value), Map(other_key, other_value):
            yield from differences(key, other_key, (*path, "key"))
            yield from differences(value, other_value, (*path, "value"))
        case Primitive(), Primitive() if type_text(table) == type_text(batch):
            return
        case Primitive(), Primitive():
            kind: Literal["cast", "clash", "unsure"] = _castable(type_text(batch), type_text(table))
            yield ColumnDifference(kind, path, batch, table)
        case _:
            yield ColumnDifference("clash", path, batch, table)


def _castable(source: str, target: str) -> Literal["cast", "clash", "unsure"]:
    """Spark's TypeCoercion.implicitCast, which Delta asks whatever the ANSI mode. Types that aren't known here stay open."""
    if "variant" in (source, target):
        return "cast" if target == "string" else "clash"
    one, other = family(source), family(target)
    if one is None or other is None or "null" in (one, other):
        return "unsure"
    takes = {"text": ("number", "time", "binary", "text"), "number": ("number", "text"), "time": ("time", "text")}
    return "cast" if other in takes.get(one, ("text",)) else "clash"


def of_type(difference: ColumnDifference, definition: Definition, table: TargetTable) -> Found:
    if difference.kind == "added" or difference.of_table is None:
        return
    name, source, target = dotted(difference.path), type_text(difference.of_batch), type_text(difference.of_table)
    change = f"{name}: {source} → {target}"
    if difference.kind == "clash":
        text = f"{name} is {source} in the batch and {target} in the table, and Delta casts neither to the other."
        remedy = f"Cast {difference.path[0]} with the step “cast”, or leave it out with the step “select”."
        yield Refusal("DELTA_FAILED_TO_MERGE_FIELDS", text, name, remedy)
    elif difference.kind == "unsure":
        yield StreamNote("type_unsure", f"{change}: {UNSURE}.")
    elif _may_widen(source, target, definition, table):
        text = f"{change}: type widening is on and the stream may change the schema, so the column may get a wider type; {UNSURE}."
        yield StreamNote("may_widen", text)
    else:
        yield StreamNote(
            "implicit_cast", f"{change}: values are cast as they are written. {_what_happens(source, target)}"
        )


def _may_widen(source: str, target: str, definition: Definition, table: TargetTable) -> bool:
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
