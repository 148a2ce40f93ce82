"""Reads members of a JSON object from any writer: a wrong type is a problem, and the value is unknown (None)."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import Any

from tables.deltalog.read.filenames import commit_version
from tables.deltalog.read.problems import ProblemCode, Problems

_LARGEST = 2**63 - 1
_LATEST_MS = 253_402_300_799_999  # 9999-12-31, the last moment that datetime can hold


class Fields:
    """One action's members, by name. `what` names the action in the problems of `file`.

    A wrong value is corrupt where the state needs it (`needed`). Otherwise it is merely odd, unless Spark parses no commit that has it:
    Delta reads commits by a schema (`Action.logSchema`), and Spark's JSON reader fails where a value's kind is another (a text for a
    number, an object for a list). A text it takes for any kind.
    """

    __slots__ = ("_by_schema", "_file", "_needed", "_problems", "_value", "_what")

    def __init__(
        self,
        value: Mapping[str, Any],
        what: str,
        file: str,
        problems: Problems,
        needed: Container[str] = (),
        *,
        by_schema: bool = True,
    ) -> None:
        """`by_schema`: Delta's schema has these members; those of a text, such as statistics, it hasn't."""
        self._by_schema = by_schema
        self._needed = needed
        self._value = value
        self._what = what
        self._file = file
        self._problems = problems

    def wrong(self, name: str, expected: str, *, parses: bool = True) -> None:
        """`parses`: Spark's reader takes the value all the same."""
        stops = not parses and self._by_schema and commit_version(self._file) is not None
        code = ProblemCode.CORRUPT if name in self._needed else ProblemCode.STOPS_SPARK if stops else ProblemCode.ODD
        self._problems.add(self._file, f"{self._what}.{name} is not {expected}", code)

    def text(self, name: str) -> str | None:
        value = self._value.get(name)
        if value is None or type(value) is str:
            return value
        self.wrong(name, "text")
        return None

    def all_texts(self, names: tuple[str, ...]) -> list[str | None]:
        """As `text` for each name."""
        get = self._value.get
        values = [get(name) for name in names]
        for value in values:
            if value is not None and type(value) is not str:
                return [self.text(name) for name in names]
        return values

    def count(self, name: str) -> int | None:
        """A whole number from 0 up to 64 bits."""
        value = self._value.get(name)
        if value is None or (type(value) is int and 0 <= value <= _LARGEST):
            return value
        self.wrong(name, "a whole number of 0 or more", parses=_is_long(value))
        return None

    def whole(self, name: str) -> int | None:
        """A whole number of 64 bits, negative ones included."""
        value = self._value.get(name)
        if value is None or (type(value) is int and -_LARGEST <= value <= _LARGEST):
            return value
        self.wrong(name, "a whole number", parses=_is_long(value))
        return None

    def flag(self, name: str) -> bool | None:
        value = self._value.get(name)
        if value is None or type(value) is bool:
            return value
        self.wrong(name, "true or false", parses=False)
        return None

    def moment(self, name: str) -> datetime | None:
        """Milliseconds since 1970 as a time in UTC."""
        value = self._value.get(name)
        if value is None:
            return None
        if type(value) is int and 0 <= value <= _LATEST_MS:
            return from_millis(value)
        self.wrong(name, "a time in milliseconds", parses=_is_long(value))
        return None

    def time(self, name: str) -> datetime | None:
        """As `moment`, where Delta's schema has a timestamp: Spark reads many a text as one."""
        value = self._value.get(name)
        if type(value) is str:
            self.wrong(name, "a time in milliseconds")
            return None
        return self.moment(name)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts; anything else in the list is left out and said."""
        value = self._value.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.wrong(name, "a list", parses=False)
            return None
        texts = tuple(item for item in value if isinstance(item, str))
        if len(texts) != len(value):
            self.wrong(name, "a list of texts")
        return texts

    def mapping(self, name: str) -> dict[str, str | None]:
        """A map of texts as Spark reads it: scalars become their text, nested values compact JSON."""
        value = self._value.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(name, "a map", parses=False)
            return {}
        for key, item in value.items():
            if type(item) is not str or type(key) is not str:
                return {as_text(name) or "": as_text(text) for name, text in value.items()}
        return value  # nearly always: the parsed object is nobody else's

    def group(self, name: str) -> dict[str, Any] | None:
        value = self._value.get(name)
        if value is None or isinstance(value, dict):
            return value
        self.wrong(name, "an object", parses=False)
        return None


def _is_long(value: Any) -> bool:
    return type(value) is int and -_LARGEST - 1 <= value <= _LARGEST


def as_text(value: Any) -> str | None:
    """A JSON value as the text that DESCRIBE HISTORY gives for it; a checkpoint's columns may hold what JSON can't say."""
    if value is None or type(value) is str:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "(nested too deeply)"
    except (TypeError, ValueError):
        return "(not text)"


def from_millis(millis: int) -> datetime:
    """A time in UTC, held between 1970 and the year 9999."""
    if not 0 <= millis <= _LATEST_MS:
        millis = 0 if millis < 0 else _LATEST_MS
    return datetime.fromtimestamp(millis / 1000, UTC)
