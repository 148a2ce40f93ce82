"""A column's type: from the text that you write in Spark's words to the form that a table's log has, and what it may widen to.

A type is a name (`long`, `decimal(5,2)`) or one of Spark's JSON objects (`struct`, `array`, `map`), as in Delta's protocol ("Schema
Serialization Format"). Widenings: Delta 4.4.0, `TypeWidening.isTypeChangeSupported`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.domain.errors import EngineFailure

DataType = str | dict[str, Any]
MOST_DEPTH = 20
MOST_LENGTH = 10_000
MOST_DIGITS = 9
MOST_PRECISION = 38

_NAMES = {
    "boolean": "boolean", "tinyint": "byte", "byte": "byte", "smallint": "short", "short": "short", "int": "integer", "integer": "integer",
    "bigint": "long", "long": "long", "float": "float", "real": "float", "double": "double", "string": "string", "binary": "binary",
    "date": "date", "timestamp": "timestamp", "timestamp_ltz": "timestamp", "timestamp_ntz": "timestamp_ntz", "variant": "variant",
}  # fmt: skip
SPARK_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
OFFERED = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "string", "binary", "date",
           "timestamp", "timestamp_ntz", "variant", "array<string>", "map<string,string>", "struct<a:int,b:string>")  # fmt: skip
_WHOLE = ("byte", "short", "integer", "long")
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\W\d]\w*)|(\d+)|'((?:[^'\\]|\\.)*)'|([<>(),:]))")
_ESCAPED, _BACKSLASHED = re.compile(r"(['\\])"), r"\\\1"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class WrongType(ValueError):
    """A text that is no type, or not one that Levee adds. `engine` has Spark's condition and words, where it has some."""

    def __init__(self, text: str, engine: EngineFailure | None = None) -> None:
        super().__init__(text)
        self.engine = engine


def parse_type(text: str) -> DataType:
    """The type that a text names, such as `decimal(5,2)` or `array<struct<a:int,b:string>>`. Raises WrongType."""
    if len(text) > MOST_LENGTH:
        raise WrongType(f"A type can have at most {MOST_LENGTH:,} characters.")
    reader = _TypeReader(text)
    found = reader.type(0)
    reader.end()
    return found


def type_text(kind: DataType) -> str:
    """The type as Spark writes it in a table's definition; `parse_type` reads it back."""
    if isinstance(kind, str):
        return SPARK_NAMES.get(kind, kind)
    match kind["type"]:
        case "array":
            return f"array<{type_text(kind['elementType'])}>"
        case "map":
            return f"map<{type_text(kind['keyType'])},{type_text(kind['valueType'])}>"
        case "struct":
            return f"struct<{','.join(_field_text(field) for field in kind['fields'])}>"
    return str(kind["type"])


def _field_text(field: Mapping[str, Any]) -> str:
    name = field["name"]
    plain = re.fullmatch(r"[^\W\d]\w*", name, re.ASCII) is not None
    written = f"{name if plain else '`' + name.replace('`', '``') + '`'}:{type_text(field['type'])}"
    comment = field["metadata"].get("comment")
    return f"{written} COMMENT '{_ESCAPED.sub(_BACKSLASHED, comment)}'" if isinstance(comment, str) else written


def features_of(kind: DataType) -> frozenset[str]:
    """The table features that a column of this type needs."""
    if isinstance(kind, str):
        return frozenset({"timestamp_ntz": ["timestampNtz"], "variant": ["variantType"]}.get(kind, []))
    parts = [kind.get("elementType"), kind.get("keyType"), kind.get("valueType")]
    parts += [field["type"] for field in kind.get("fields", ())]
    return frozenset().union(*(features_of(part) for part in parts if part is not None))


def can_widen(before: DataType, after: DataType) -> bool:
    """Whether Delta's type widening leads from one type to the other; never for equal ones and for structs, arrays and maps."""
    if not isinstance(before, str) or not isinstance(after, str) or before == after:
        return False
    if before in _WHOLE and after in _WHOLE:
        return _WHOLE.index(before) < _WHOLE.index(after)
    if before in _WHOLE[:3] and after == "double":
        return True
    if (before, after) in {("float", "double"), ("date", "timestamp_ntz")}:
        return True
    return _widens_to_decimal(before, after)


def _widens_to_decimal(before: str, after: str) -> bool:
    to = _DECIMAL.fullmatch(after)
    if to is None:
        return False
    whole, scale = int(to[1]) - int(to[2]), int(to[2])
    if before in _WHOLE:
        return whole >= (20 if before == "long" else 10)
    begun = _DECIMAL.fullmatch(before)
    return begun is not None and whole >= int(begun[1]) - int(begun[2]) and scale >= int(begun[2])


def widenings(kind: DataType) -> list[str]:
    """The types that a column of this one may widen to, in Spark's words, decimals by their least."""
    if kind == "string" or not isinstance(kind, str):
        return []
    least = ["decimal(10,0)", "decimal(20,0)"]
    if begun := _DECIMAL.fullmatch(kind):
        digits, scale = int(begun[1]) + 1, int(begun[2])
        least = [f"decimal({digits},{scale})", f"decimal({digits},{scale + 1})"] if digits <= MOST_PRECISION else []
    return [type_text(name) for name in (*_WHOLE, "double", "timestamp_ntz", *least) if can_widen(kind, name)]


def wider_decimals(kind: DataType) -> str:
    """Which decimals beside those listed a column of this type may widen to, in words; empty if none."""
    if kind in _WHOLE:
        return f"any decimal with at least {20 if kind == 'long' else 10} digits before the point"
    begun = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    if begun is None or int(begun[1]) >= MOST_PRECISION:
        return ""
    whole, scale = int(begun[1]) - int(begun[2]), int(begun[2])
    return f"any decimal with at least {whole} digits before the point and {scale} after it"


class _TypeReader:
    """Reads a type's text token by token; nothing else of SQL is understood."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def _token(self) -> tuple[str, str]:
        """The next token, not taken yet: its kind (name, quoted, number, comment, sign, end) and text."""
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            rest = self.text[self.place :].strip()
            return ("end", "") if not rest else ("odd", rest[0])
        quoted, name, number, comment, sign = match.groups()
        for kind, value in (("name", name), ("number", number), ("sign", sign), ("comment", comment)):
            if value is not None:
                return kind, value
        return "quoted", quoted.replace("``", "`")

    def _take(self) -> tuple[str, str]:
        found = self._token()
        match = _TOKEN.match(self.text, self.place)
        self.place = match.end() if match else len(self.text)
        return found

    def _expect(self, sign: str) -> None:
        kind, value = self._take()
        if kind != "sign" or value != sign:
            raise _syntax(value)

    def _has(self, value: str) -> bool:
        kind, found = self._token()
        if kind not in ("sign", "name") or found.lower() != value:
            return False
        self._take()
        return True

    def end(self) -> None:
        kind, value = self._token()
        if kind != "end":
            raise _syntax(value)

    def type(self, depth: int) -> DataType:
        if depth > MOST_DEPTH:
            raise WrongType(f"A type can be nested at most {MOST_DEPTH} levels deep.")
        kind, value = self._take()
        word = value.lower()
        if kind != "name":
            raise _syntax(value)
        match word:
            case "array":
                self._expect("<")
                element = self.type(depth + 1)
                self._expect(">")
                return {"type": "array", "elementType": element, "containsNull": True}
            case "map":
                return self._map(depth)
            case "struct":
                return self._struct(depth)
            case "decimal" | "dec" | "numeric":
                return self._decimal()
        return _named(word)

    def _map(self, depth: int) -> DataType:
        self._expect("<")
        key = self.type(depth + 1)
        self._expect(",")
        value = self.type(depth + 1)
        self._expect(">")
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}

    def _struct(self, depth: int) -> DataType:
        self._expect("<")
        fields = [self._field(depth)]
        while self._has(","):
            fields.append(self._field(depth))
        self._expect(">")
        return {"type": "struct", "fields": fields}

    def _field(self, depth: int) -> dict[str, Any]:
        kind, name = self._take()
        if kind not in ("name", "quoted"):
            raise _syntax(name)
        self._has(":")
        found = {"name": name, "type": self.type(depth + 1), "nullable": True, "metadata": {}}
        if self._has("not"):
            text = "Operation not allowed: `NOT NULL in ALTER TABLE ADD COLUMNS` is not supported for Delta tables"
            raise WrongType(text, EngineFailure("DELTA_OPERATION_NOT_ALLOWED", "0AKDC", text))
        if self._has("comment"):
            kind, text = self._take()
            if kind != "comment":
                raise _syntax(text)
            found["metadata"] = {"comment": re.sub(r"\\(.)", r"\1", text)}
        return found

    def _decimal(self) -> DataType:
        if not self._has("("):
            return "decimal(10,0)"
        precision, scale = self._number(), 0
        if self._has(","):
            scale = self._number()
        self._expect(")")
        if precision > MOST_PRECISION:
            text = f"Decimal precision {precision} exceeds max precision {MOST_PRECISION}."
            raise WrongType(text, EngineFailure("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003", text))
        if not precision >= 1 or scale > precision:
            raise WrongType("A decimal has 1 to 38 digits, of which the scale is a part: decimal(10,2).")
        return f"decimal({precision},{scale})"

    def _number(self) -> int:
        kind, value = self._take()
        if kind != "number" or len(value) > MOST_DIGITS:
            raise _syntax(value[:20])
        return int(value)


def _named(word: str) -> DataType:
    if word in _NAMES:
        return _NAMES[word]
    if word in ("char", "character", "varchar"):
        raise WrongType("Levee adds no char or varchar columns: use string, and a CHECK constraint on its length.")
    if word in ("void", "interval"):
        raise WrongType(f"A Delta table can’t store {word} values.")
    text = f'Unsupported data type "{word.upper()}".'
    raise WrongType(text, EngineFailure("UNSUPPORTED_DATATYPE", "0A000", text))


def _syntax(token: str) -> WrongType:
    text = f"Syntax error at or near {repr(token) if token else 'end of input'}."
    return WrongType(text, EngineFailure("PARSE_SYNTAX_ERROR", "42601", text))
