"""The schema of a stream's source, as a person gives it. Spark's struct as JSON throughout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates import typenames
from jobs.domain.storable import storable_text
from tables.deltalog.read.lines import parse_json
from tables.deltalog.rules.schema import parse_schema

MAX_BYTES = 200_000
MAX_COLUMNS = 2_000  # nested ones included
MAX_DEPTH = 20
SCHEMA_REFUSED = "schema_refused"

Json = dict[str, Any]

REMEDY = "Write `name type, name type`, for example `id BIGINT, at TIMESTAMP, tags ARRAY<STRING>`, or paste the schema as Spark’s JSON."
JSON_NAMES = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
_TOKEN = re.compile(r"\s*(?:(?P<word>\w+)|(?P<quoted>`(?:[^`]|``)+`)|(?P<mark>[<>(),:])|(?P<other>\S))")
_TYPE = re.compile(r"\w+(?:\s*\([\s\d,]*\))?", re.ASCII)
_VOID = ("void", "null", "nulltype")


def parsed(schema_json: str) -> Json:
    """A table's struct from the text in its log, as it is. Raises ValueError for anything but a struct."""
    parse_schema(schema_json)
    struct: Json = parse_json(schema_json)
    return struct


def parse_source_schema(text_or_json: str | Mapping[str, Any]) -> Json:
    """The explicit schema of a file source: Spark's struct as JSON, from the same (as values or text) or from DDL.

    Types are those of predicates, and arrays, maps and structs of them. Of a column's metadata only the comment is kept: all other
    keys would mean something to Delta once the first batch creates the table.

    Raises CommandRefused (`schema_refused`, place `source.schema`) with where and what: no struct, an empty one, a type that isn't
    known or void, names that are doubled (without regard to case), deeper than 20 levels, over 2,000 columns or 200 kB.
    """
    text = _text_of(text_or_json)
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise _refused(
            f"it is longer than {MAX_BYTES // 1000} kB", "Leave out the columns that the stream doesn’t need."
        )
    if not text.strip():
        raise _refused("it names no columns")
    is_json = text.lstrip()[0] in '{["'
    fields = _struct_from(_value_of(text), "", 0)["fields"] if is_json else _Ddl(text).columns()
    if _count(fields) > MAX_COLUMNS:
        raise _refused(
            f"it has more than {MAX_COLUMNS:,} columns", "Leave out the columns that the stream doesn’t need."
        )
    return {"type": "struct", "fields": fields}


def columns_of(text: str) -> list[tuple[str, str]] | None:
    """A schema's columns as (name, type), both as DDL takes them; None where DDL can’t say all (comments, arrays without NULL).

    Raises CommandRefused as `parse_source_schema`.
    """
    fields = parse_source_schema(text)["fields"]
    if any(_is_beyond_ddl(field) for field in fields):
        return None
    return ddl_columns(fields)


def ddl_columns(fields: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The same of fields in Spark's JSON as they are, with types that Levee doesn't take, too."""
    return [(field["name"], _ddl_type(field)) for field in fields]


def schema_text(columns: Iterable[tuple[str, str]]) -> str:
    """Columns as DDL: what `columns_of` gives, or a person has typed."""
    return ", ".join(f"{_ddl_name(name)} {kind.strip()}".strip() for name, kind in columns)


def _is_beyond_ddl(part: Any) -> bool:
    if isinstance(part, str) or not isinstance(part, Mapping):
        return False
    below = [*part.get("fields", ()), *(part.get(name) for name in ("type", "elementType", "keyType", "valueType"))]
    never_null = part.get("containsNull", True) is False or part.get("valueContainsNull", True) is False
    return never_null or bool(part.get("metadata")) or any(map(_is_beyond_ddl, below))


def _ddl_name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


def _ddl_type(field: Mapping[str, Any]) -> str:
    return _ddl(field["type"]) + ("" if field.get("nullable", True) else " NOT NULL")


def _ddl(kind: Any) -> str:
    if isinstance(kind, str):
        return _DDL_NAMES.get(kind, kind).upper()
    if kind["type"] == "array":
        return f"ARRAY<{_ddl(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{_ddl(kind['keyType'])}, {_ddl(kind['valueType'])}>"
    return "STRUCT<" + ", ".join(f"{_ddl_name(field['name'])}: {_ddl_type(field)}" for field in kind["fields"]) + ">"


_DDL_NAMES = {name: text for text, name in JSON_NAMES.items()}

# The schema that a person gives


def _text_of(given: Any) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        raise _refused("it is neither a text nor a struct")
    try:
        return json.dumps(given, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise _refused("it is no JSON, or nested too deeply") from None


def _value_of(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _refused(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise _refused("it is nested too deeply") from None
    except ValueError:
        raise _refused("a number is too long to be read") from None


def _count(fields: Sequence[Mapping[str, Any]]) -> int:
    return sum(1 + _count_below(field["type"]) for field in fields)


def _count_below(kind: Any) -> int:
    if isinstance(kind, str):
        return 0
    if kind["type"] == "struct":
        return _count(kind["fields"])
    return sum(_count_below(kind[part]) for part in ("elementType", "keyType", "valueType") if part in kind)


def _simple(text: str, where: str) -> str:
    """A simple type by its name in Spark's JSON."""
    if text.strip().lower() in _VOID:
        raise _refused(f"{where}: a column of type void holds nothing but NULL, and Delta refuses it in a stream")
    try:
        if not _TYPE.fullmatch(text.strip()):
            raise ValueError(f"a type is one of {', '.join(typenames.SIMPLE)}, decimal(digits,scale)")
        name = typenames.parse_type(text)
    except ValueError as error:
        reason = f"{where}: {text.strip()[:60]} isn’t a type that Levee takes"
        raise _refused(f"{reason}; {error}, or an array, map or struct of these") from None
    return JSON_NAMES.get(name, name)


def _require_once(names: Iterable[str], where: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.lower(), name)) is not name:
            twice = f"{name} is named twice" if other == name else f"{other} and {name} are one name to Spark"
            raise _refused(
                f"{where}{twice}", "Give each column a name of its own; upper and lower case make no difference."
            )


def _require_name(name: str, where: str) -> None:
    if not name:
        raise _refused(f"{where}a column’s name is empty")
    if "\x00" in name or not name.isprintable():
        raise _refused(f"{where}the name {name!a} has a character that can’t be seen")


def _require_depth(depth: int, where: str) -> None:
    if depth > MAX_DEPTH:
        raise _refused(f"{where}types are nested deeper than {MAX_DEPTH} levels")


def _refused(reason: str, remedy: str = REMEDY) -> CommandRefused:
    return CommandRefused(
        Refusal(SCHEMA_REFUSED, f"The schema can’t be read: {reason}.", place="source.schema", remedy=remedy)
    )


def field_of(name: str, kind: Any, nullable: bool, comment: str | None = None) -> Json:
    return {
        "name": name,
        "type": kind,
        "nullable": nullable,
        "metadata": {} if comment is None else {"comment": comment},
    }


def _struct_from(value: Any, path: str, depth: int) -> Json:
    """Spark's JSON made anew from what is known of it. `path` is for people: `place.lat`."""
    if not isinstance(value, dict) or value.get("type") != "struct" or not isinstance(value.get("fields"), list):
        raise _refused(f'{_at(path)}a struct was expected, {{"type": "struct", "fields": […]}}')
    if not value["fields"]:
        raise _refused(f"{_at(path)}it names no columns")
    fields = [_column_from(item, path, number, depth + 1) for number, item in enumerate(value["fields"], 1)]
    _require_once((field["name"] for field in fields), _at(path))
    return {"type": "struct", "fields": fields}


def _column_from(value: Any, above: str, number: int, depth: int) -> Json:
    where = f"{_at(above)}column {number}: "
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise _refused(f"{where}a column is an object with name and type")
    _require_name(value["name"], where)
    path = f"{above}.{value['name']}" if above else value["name"]
    nullable, metadata = value.get("nullable", True), value.get("metadata") or {}
    if not isinstance(nullable, bool) or not isinstance(metadata, dict):
        raise _refused(f"{path}: nullable is true or false, and metadata an object")
    comment = metadata.get("comment")
    return field_of(
        value["name"],
        _type_from(value.get("type"), path, depth),
        nullable,
        storable_text(comment) if isinstance(comment, str) else None,
    )


def _type_from(value: Any, path: str, depth: int) -> Any:
    _require_depth(depth, _at(path))
    if isinstance(value, str):
        return _simple(value, path)
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "struct":
        return _struct_from(value, path, depth)
    if kind == "array":
        return {
            "type": "array",
            "elementType": _type_from(value.get("elementType"), f"{path}.element", depth + 1),
            "containsNull": value.get("containsNull") is not False,
        }
    if kind == "map":
        return {
            "type": "map",
            "keyType": _type_from(value.get("keyType"), f"{path}.key", depth + 1),
            "valueType": _type_from(value.get("valueType"), f"{path}.value", depth + 1),
            "valueContainsNull": value.get("valueContainsNull") is not False,
        }
    raise _refused(f"{path}: its type is neither a name nor a struct, array or map")


def _at(path: str) -> str:
    return f"{path}: " if path else ""


class _Ddl:
    """Recursive descent over `name type [NOT NULL], …`; raises CommandRefused at the first thing that is neither."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def columns(self) -> list[Json]:
        fields = self._fields(1, "")
        if self._peek():
            raise self._wrong("a comma or the end was expected")
        return fields

    def _fields(self, depth: int, where: str) -> list[Json]:
        fields = [self._column(depth)]
        while self._peek() == ",":
            self._take()
            fields.append(self._column(depth))
        _require_once((field["name"] for field in fields), where)
        return fields

    def _column(self, depth: int) -> Json:
        name = self._name()
        if self._peek() == ":":
            self._take()
        kind = self._type(depth)
        if self._peek().lower() != "not":
            return field_of(name, kind, nullable=True)
        self._take()
        if self._peek().lower() != "null":
            raise self._wrong("NULL was expected after NOT")
        self._take()
        return field_of(name, kind, nullable=False)

    def _name(self) -> str:
        token = self._peek()
        if not (token.startswith("`") and len(token) > 1) and not re.fullmatch(r"\w+", token):
            raise self._wrong("a column’s name was expected")
        name = token[1:-1].replace("``", "`") if token.startswith("`") else token
        _require_name(name, f"at position {self._position()}: ")
        self._take()
        return name

    def _type(self, depth: int) -> Any:
        _require_depth(depth, f"at position {self._position()}: ")
        token = self._peek()
        if not re.fullmatch(r"\w+", token):
            raise self._wrong("a type was expected")
        nested = {"array": self._array, "map": self._map, "struct": self._struct}.get(token.lower())
        where = f"at position {self._position()}"
        self._take()
        return nested(depth) if nested else _simple(token + self._arguments(), where)

    def _array(self, depth: int) -> Json:
        self._expect("<")
        element = self._type(depth + 1)
        self._expect(">")
        return {"type": "array", "elementType": element, "containsNull": True}

    def _map(self, depth: int) -> Json:
        self._expect("<")
        key = self._type(depth + 1)
        self._expect(",")
        value = self._type(depth + 1)
        self._expect(">")
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}

    def _struct(self, depth: int) -> Json:
        self._expect("<")
        where = f"at position {self._position()}: "
        fields = self._fields(depth + 1, where)
        self._expect(">")
        return {"type": "struct", "fields": fields}

    def _arguments(self) -> str:
        """The numbers in brackets after a type's name, as text; empty without."""
        if self._peek() != "(":
            return ""
        parts = [self._take()]
        while parts[-1] != ")":
            if not re.fullmatch(r"[0-9]+|,|\)", self._peek()):
                raise self._wrong("a number or a closing bracket was expected")
            parts.append(self._take())
        return "".join(parts)

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise self._wrong(f"{mark} was expected")
        self._take()

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group().lstrip() if match else ""

    def _take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        self.at = match.end() if match else len(self.text)
        return match.group().lstrip() if match else ""

    def _position(self) -> int:
        """Where the next token begins, counted from 1."""
        rest = self.text[self.at :]
        return self.at + len(rest) - len(rest.lstrip()) + 1

    def _wrong(self, reason: str) -> CommandRefused:
        token = self._peek()[:60]
        shown = token if token.isprintable() else ascii(token)
        return _refused(f"at position {self._position()}: {reason}, found {f'`{shown}`' if token else 'the end'}")
