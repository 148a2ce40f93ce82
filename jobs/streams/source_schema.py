"""The schema of a stream's source, as a person gives it, and what a stream's steps make of it. Spark's struct as JSON throughout."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.commands.stream_round.rules import Steps
from jobs.domain.errors import CommandRefused, Refusal
from jobs.domain.predicates import stored, typenames
from jobs.domain.predicates.printing import to_text
from jobs.domain.predicates.schema import Field, Schema
from jobs.domain.storable import storable_text
from jobs.predicates.reading import parse
from jobs.predicates.table_schema import schema_of
from tables.deltalog.read.lines import parse_json
from tables.deltalog.rules.schema import parse_schema

MAX_BYTES = 200_000
MAX_COLUMNS = 2_000  # nested ones included
MAX_DEPTH = 20
SCHEMA_REFUSED = "schema_refused"
STEP_REFUSED = "step_refused"

Json = dict[str, Any]

_REMEDY = "Write `name type, name type`, for example `id BIGINT, at TIMESTAMP, tags ARRAY<STRING>`, or paste the schema as Spark’s JSON."
_JSON_NAMES = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}
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


def after_steps(struct_json: Mapping[str, Any], steps: Steps) -> Json:
    """The struct of the rows that a batch writes: after rename, cast, filter, select and aggregate, in this order.

    Names find columns without regard to case; a column that a cast, select or group names has that spelling afterwards, as in Spark
    [run on 4.2.0]. A count is BIGINT and never NULL. No `select` means all columns; no `group_by` with `count_as` one count of all rows.

    Raises CommandRefused (`step_refused`, its place the step's name) for what Spark would refuse, or do otherwise than one expects.
    """
    fields = _cast(_renamed(_fields_of(struct_json), steps.rename), steps.cast)
    if steps.filter is not None:
        _check_filter(fields, steps.filter)
    if steps.select:
        fields = _selected("select", fields, steps.select)
    if steps.count_as is not None or steps.group_by:
        fields = _counted(fields, steps.group_by, steps.count_as)
    return {"type": "struct", "fields": fields}


def read_filter(text: str, struct_json: Mapping[str, Any], steps: Steps) -> tuple[Json, str]:
    """A filter's tree as JSON, and its one spelling, from a predicate on the columns as they are after rename and cast.

    Raises CommandRefused: `predicate_refused` for the predicate, `step_refused` for the steps before it.
    """
    fields = _cast(_renamed(_fields_of(struct_json), steps.rename), steps.cast)
    tree = parse(text, _predicate_schema(fields))
    return stored.to_json(tree), to_text(tree)


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
    return _JSON_NAMES.get(name, name)


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


def _refused(reason: str, remedy: str = _REMEDY) -> CommandRefused:
    return CommandRefused(
        Refusal(SCHEMA_REFUSED, f"The schema can’t be read: {reason}.", place="source.schema", remedy=remedy)
    )


def _field(name: str, kind: Any, nullable: bool, comment: str | None = None) -> Json:
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
    return _field(
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
            return _field(name, kind, nullable=True)
        self._take()
        if self._peek().lower() != "null":
            raise self._wrong("NULL was expected after NOT")
        self._take()
        return _field(name, kind, nullable=False)

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


# The steps


def _fields_of(struct_json: Mapping[str, Any]) -> list[Json]:
    return [dict(field) for field in struct_json["fields"]]


def _find(step: str, fields: Sequence[Json], name: str) -> int:
    """The place of the one column of that name, whatever its case."""
    found = [at for at, field in enumerate(fields) if field["name"].lower() == name.lower()]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(fields[at]["name"] for at in found)
        raise _no_step(step, f"{name} could be any of {names}: Spark doesn’t tell upper from lower case")
    there = ", ".join(field["name"] for field in fields[:20]) + (", …" if len(fields) > 20 else "")
    raise _no_step(
        step,
        f"there is no column {name[:200]}",
        f"There is {there}. Names with dots are names: fields of structs can’t be named here.",
    )


def _renamed(fields: list[Json], rename: Mapping[str, str]) -> list[Json]:
    """All columns are renamed at once. A new name that is in use is refused, even if that column is renamed too."""
    named: dict[int, str] = {}
    for old, new in rename.items():
        at = _find("rename", fields, old)
        if at in named:
            raise _no_step("rename", f"{fields[at]['name']} is renamed twice")
        _require_new_name("rename", new)
        taken = [
            field["name"] for other, field in enumerate(fields) if other != at and field["name"].lower() == new.lower()
        ]
        if taken or any(new.lower() == other.lower() for other in named.values()):
            raise _no_step(
                "rename", f"{old} can’t be renamed to {new}: there is a column {taken[0] if taken else new} already"
            )
        named[at] = new
    return [{**field, "name": named.get(at, field["name"])} for at, field in enumerate(fields)]


def _require_new_name(step: str, name: str) -> None:
    if not name or not name.isprintable():
        raise _no_step(step, f"{name!a} can’t be a column’s name")


def _cast(fields: list[Json], cast: Mapping[str, str]) -> list[Json]:
    kinds = _predicate_schema(fields).fields if cast else ()
    result = list(fields)
    done: set[int] = set()
    for name, text in cast.items():
        at = _find("cast", fields, name)
        if at in done:
            raise _no_step("cast", f"{fields[at]['name']} is cast twice")
        done.add(at)
        target = _type_of(name, text)
        if not typenames.can_cast(kinds[at].type, target):
            raise _no_step("cast", f"{name} is {_shown(kinds[at], fields[at])}, which Spark can’t cast to {target}")
        result[at] = _field(name, _JSON_NAMES.get(target, target), nullable=True)
    return result


def _type_of(name: str, text: str) -> str:
    try:
        return typenames.parse_type(text)
    except ValueError as error:
        raise _no_step("cast", f"{name} can’t be cast to {text[:60]}: {error}") from None


def _shown(kind: Field, field: Json) -> str:
    """The type as a person reads it, short."""
    return kind.type if isinstance(field["type"], str) else f"a column of type {field['type']['type']}"


def _check_filter(fields: list[Json], tree: Mapping[str, Any]) -> None:
    """The stored predicate must fit these columns."""
    try:
        parse(to_text(stored.from_json(tree)), _predicate_schema(fields))
    except ValueError as error:
        raise _no_step("filter", str(error)) from None
    except CommandRefused as refused:
        raise _no_step("filter", refused.refusals[0].message, refused.refusals[0].remedy) from None


def _selected(step: str, fields: list[Json], names: Sequence[str]) -> list[Json]:
    chosen: dict[int, str] = {}
    for name in names:
        at = _find(step, fields, name)
        if at in chosen:
            raise _no_step(step, f"{name} is named twice")
        chosen[at] = name
    return [{**fields[at], "name": name} for at, name in chosen.items()]


def _counted(fields: list[Json], group_by: Sequence[str], count_as: str | None) -> list[Json]:
    if count_as is None:
        raise _no_step("aggregate", "the column that holds the count has no name", "Name it: count_as.")
    _require_new_name("aggregate", count_as)
    groups = _selected("aggregate", fields, group_by)
    for field in groups:
        if field["name"].lower() == count_as.lower():
            raise _no_step(
                "aggregate", f"the count can’t be called {count_as}: rows are grouped by a column of that name"
            )
        if _holds_variant(field["type"]):
            raise _no_step("aggregate", f"Spark can’t group by {field['name']}: values of type variant have no order")
    return [*groups, _field(count_as, "long", nullable=False)]


def _holds_variant(kind: Any) -> bool:
    return any(part == "variant" for part in _parts(kind))


def _parts(kind: Any) -> Iterable[str]:
    """The names of all simple types in a type."""
    if isinstance(kind, str):
        return (kind,)
    below = [field["type"] for field in kind.get("fields", ())]
    below += [kind[part] for part in ("elementType", "keyType", "valueType") if part in kind]
    return (name for inner in below for name in _parts(inner))


def _predicate_schema(fields: Sequence[Json]) -> Schema:
    """The columns as predicates see them. All may be NULL: Spark reads files so, whatever their schema says (fileSource.forceNullable)."""
    struct = parse_schema(json.dumps({"type": "struct", "fields": list(fields)}))
    return Schema(tuple(_nullable(field) for field in schema_of(struct).fields))


def _nullable(field: Field) -> Field:
    return Field(field.name, field.type, True, tuple(_nullable(inner) for inner in field.fields))


def _no_step(step: str, reason: str, remedy: str | None = None) -> CommandRefused:
    return CommandRefused(
        Refusal(STEP_REFUSED, f"The step “{step}” can’t be taken: {reason}.", place=step, remedy=remedy)
    )
