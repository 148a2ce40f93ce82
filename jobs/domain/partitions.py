"""Partition schemas: Levee's own parser for their DDL, and the check of one against the table's directories.

A partition schema is text that people type and that must appear in a statement. It is parsed here into names and types of a
closed list and printed again from those alone, so that nothing else of the text can reach Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobs.domain.delta.ddl_words import named_twice, syntax_error, too_precise, wrong_type
from jobs.domain.errors import CommandRefused, EngineFailure, Refusal

CODE = "partition_mismatch"
MAX_LENGTH = 10_000

# Every spelling of Spark's DDL that Levee takes, and the one name it uses.
TYPE_NAMES: Mapping[str, str] = {
    "boolean": "boolean",
    "byte": "tinyint",
    "tinyint": "tinyint",
    "short": "smallint",
    "smallint": "smallint",
    "int": "int",
    "integer": "int",
    "long": "bigint",
    "bigint": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "string": "string",
}
DECIMALS = ("decimal", "dec", "numeric")
# Delta names a type in messages by its class in Spark.
CATALYST_NAMES: Mapping[str, str] = {
    "boolean": "BooleanType",
    "tinyint": "ByteType",
    "smallint": "ShortType",
    "int": "IntegerType",
    "bigint": "LongType",
    "float": "FloatType",
    "double": "DoubleType",
    "date": "DateType",
    "timestamp": "TimestampType",
    "string": "StringType",
}

_ARGUMENTS = re.compile(r"\s*\(\s*[0-9]+\s*(?:,\s*[0-9]+\s*)*\)")

_TOKEN = re.compile(r"\s*(?:(?P<word>\w+)|(?P<quoted>`(?:[^`]|``)*`)|(?P<mark>[(),:])|(?P<other>\S))")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One partition column: its name as in the directories and its type in Spark's DDL (`int`, `decimal(10,2)`)."""

    name: str
    type: str

    def ddl(self) -> str:
        """The field as part of a statement. The type stands in backquotes where Delta's grammar reserves the word."""
        name = "`" + self.name.replace("`", "``") + "`"
        return f"{name} `timestamp`" if self.type == "timestamp" else f"{name} {self.type}"

    @property
    def catalyst(self) -> str:
        if self.type.startswith("decimal"):
            return "DecimalType" + self.type[len("decimal") :]
        return CATALYST_NAMES[self.type]


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """A sequence of partition columns that files lie under: its names from the top, files counted, and one file's full path."""

    columns: tuple[str, ...]
    files: int
    example: str


@dataclass(frozen=True, slots=True)
class ValueMisfit:
    """A value that a column's given type can't read."""

    field: PartitionField
    value: str
    example: str


def parse_schema(text: str | None) -> tuple[PartitionField, ...]:
    """The columns of a partition schema's DDL; none for None.

    Raises CommandRefused (`partition_mismatch`) with the position and the reason: an unknown type, a doubled name, anything
    that is no `name type` list. Each carries the condition and words that Spark has for it, where it has some.
    """
    if text is None:
        return ()
    if len(text) > MAX_LENGTH:
        raise _refused(MAX_LENGTH, f"it is longer than {MAX_LENGTH:,} characters")
    fields = _Parser(text).fields()
    seen: set[str] = set()
    for field in fields:
        if field.name.lower() in seen:
            reason = f"partition column {field.name} is named twice"
            raise CommandRefused(_refusal(reason, place=field.name, engine=named_twice(field.name)))
        seen.add(field.name.lower())
    return fields


def print_schema(fields: Sequence[PartitionField]) -> str:
    """The DDL of `fields`, each name in backquotes; parse_schema reads it back."""
    return ", ".join(field.ddl() for field in fields)


def check_layout(
    schema: Sequence[PartitionField], layouts: Sequence[PartitionLayout], misfits: Sequence[ValueMisfit] = ()
) -> tuple[Refusal, ...]:
    """Why CONVERT with `schema` would fail on directories like these; nothing when it would not.

    The words and conditions are Delta's own (ConvertUtils.createAddFile): the count of columns, then each name in order (without
    regard to case), then the values.
    """
    reasons = [_count_or_name(schema, layout) for layout in layouts]
    reasons += [_cast(misfit) for misfit in misfits]
    return tuple(reason for reason in reasons if reason is not None)


def _count_or_name(schema: Sequence[PartitionField], layout: PartitionLayout) -> Refusal | None:
    expected = [field.name for field in schema]
    if len(expected) != len(layout.columns):
        return _delta_refusal(
            "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
            "KD009",
            f"Expecting {len(expected)} partition column(s): {_listed(expected)}, but found {len(layout.columns)} partition"
            f" column(s): {_listed(layout.columns)} from parsing the file name: {layout.example}",
            layout.example,
        )
    for name, column in zip(expected, layout.columns, strict=True):
        if name.lower() != column.lower():
            return _delta_refusal(
                "DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME",
                "KD009",
                f"Expecting partition column `{name}`, but found partition column `{column}` from parsing the file name:"
                f" {layout.example}",
                layout.example,
            )
    return None


def _cast(misfit: ValueMisfit) -> Refusal:
    return _delta_refusal(
        "DELTA_FAILED_CAST_PARTITION_VALUE",
        "22018",
        f"Failed to cast partition value `{misfit.value}` to {misfit.field.catalyst}",
        misfit.example,
    )


def _listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f"`{name}`" for name in names) + "]"


def _delta_refusal(condition: str, sqlstate: str, text: str, place: str) -> Refusal:
    return Refusal(
        code=CODE,
        message=text,
        place=place,
        remedy="Give the partition columns as the directories have them: all of them, in order, with types that read every value.",
        engine=EngineFailure(condition=condition, sqlstate=sqlstate, message=text),
    )


def _refusal(reason: str, *, place: str | None, engine: EngineFailure | None = None) -> Refusal:
    return Refusal(
        code=CODE,
        message=reason,
        place=place,
        remedy="Write the partition columns as `name type, name type`, for example `day date, country string`.",
        engine=engine,
    )


def _refused(position: int, reason: str, engine: EngineFailure | None = None) -> CommandRefused:
    text = f"the partition schema can't be read: {reason}"
    return CommandRefused(_refusal(text, place=f"position {position + 1}", engine=engine))


class _Parser:
    """Recursive descent over `name type [, name type]…`; raises CommandRefused at the first thing that is neither."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fields(self) -> tuple[PartitionField, ...]:
        fields = [self._field()]
        while self._peek() == ",":
            self._take()
            fields.append(self._field())
        if self._peek():
            raise self._wrong("a comma or the end was expected")
        return tuple(fields)

    def _field(self) -> PartitionField:
        name = self._name()
        if self._peek() == ":":
            self._take()
        return PartitionField(name, self._type())

    def _name(self) -> str:
        token = self._peek()
        if not token or token[0] in "(),:" or not (token[0] == "`" or re.fullmatch(r"\w+", token)):
            raise self._wrong("a column name was expected")
        start = self.at
        self._take()
        if token[0] != "`":
            return token
        name = token[1:-1].replace("``", "`")
        if not name:
            self.at = start
            raise self._wrong("a column name was expected")
        return name

    def _type(self) -> str:
        token = self._peek()
        word = token.strip("`").lower()
        if word in DECIMALS:
            self._take()
            return self._decimal()
        known = TYPE_NAMES.get(word)
        arguments = self._arguments()
        if known is None or arguments:
            raise self._error(_unknown_type(), wrong_type(token, word, arguments))
        self._take()
        return known

    def _arguments(self) -> str:
        """The numbers in brackets after the type that comes next, `(3)`; empty without."""
        word = _TOKEN.match(self.text, self.at)
        match = _ARGUMENTS.match(self.text, word.end()) if word else None
        return "".join(match.group().split()) if match else ""

    def _decimal(self) -> str:
        if self._peek() != "(":
            return "decimal(10,0)"
        self._take()
        precision, scale = self._number(), 0
        if self._peek() == ",":
            self._take()
            scale = self._number()
        if self._peek() != ")":
            raise self._wrong("a closing bracket was expected")
        if not 1 <= precision <= 38 or scale > precision:
            raise self._error(
                "a decimal has 1 to 38 digits, and no more after the point than in all", too_precise(precision)
            )
        self._take()
        return f"decimal({precision},{scale})"

    def _number(self) -> int:
        token = self._peek()
        if not re.fullmatch(r"[0-9]{1,3}", token):
            raise self._wrong("a number was expected")
        self._take()
        return int(token)

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group().lstrip() if match else ""

    def _take(self) -> None:
        match = _TOKEN.match(self.text, self.at)
        self.at = match.end() if match else len(self.text)

    def _wrong(self, reason: str) -> CommandRefused:
        return self._error(reason, syntax_error(self._peek()))

    def _error(self, reason: str, engine: EngineFailure | None) -> CommandRefused:
        rest = self.text[self.at :]
        position = self.at + len(rest) - len(rest.lstrip())
        token = self._peek()
        text = f"{reason}, found `{token}`" if token else f"{reason}, found the end"
        return _refused(position, text, engine)


def _unknown_type() -> str:
    known = "boolean, tinyint, smallint, int, bigint, float, double, decimal, date, timestamp, string"
    return f"a type of a partition column was expected ({known})"
