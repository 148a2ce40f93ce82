"""Fields whose text means a list or a mapping; what was typed is shown again as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

LONGEST = 20_000  # characters of a field
_IN_QUOTES = re.compile(r"`((?:[^`]|``)+)`(?!`)")  # a name that holds a comma or an equals sign
_PLAIN = re.compile(r"[^\s`,=]+(?: +[^\s`,=]+)*")


class Lines(forms.CharField):
    """A text whose lines end as they are stored, whatever a browser sends."""

    def to_python(self, value: Any) -> Any:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


class _Typed(Lines):
    """A text that means a value; what was typed is shown again as it was."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if "\x00" in text:
            raise ValidationError("Null characters aren’t allowed.")
        return self.read(text)

    def run_validators(self, value: Any) -> None:
        """The text is checked before it is read."""

    def prepare_value(self, value: Any) -> Any:
        return value if value is None or isinstance(value, str) else self.written(value)

    def read(self, text: str) -> Any:
        raise NotImplementedError

    def written(self, value: Any) -> str:
        raise NotImplementedError


class Pairs(_Typed):
    """Lines of `name=value` as a dict."""

    widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocapitalize": "none"})

    def read(self, text: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            name, rest = _split(line.strip(), "=")
            if not name or rest is None:
                raise ValidationError(f"Line {number} must be {self.example}.")
            if name in pairs:
                raise ValidationError(f"Line {number} names {name} again.")
            pairs[name] = rest
        return pairs

    def written(self, value: Mapping[str, str]) -> str:
        return "\n".join(f"{_quoted(name)}={text}" for name, text in value.items())

    def __init__(self, example: str, **options: Any) -> None:
        super().__init__(required=False, max_length=LONGEST, strip=False, **options)
        self.example = example


class NamesField(_Typed):
    """Names with commas between them, or one on each line, as a list."""

    def read(self, text: str) -> list[str]:
        return [name for line in text.splitlines() for name in _names(line) if name]

    def written(self, value: Sequence[str]) -> str:
        return ", ".join(map(_quoted, value))

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, max_length=LONGEST, **options)
        self.widget.attrs |= {"spellcheck": "false", "autocapitalize": "none"}


def _names(line: str) -> Iterator[str]:
    rest: str | None = line.strip()
    while rest:
        name, rest = _split(rest, ",")
        yield name


def _split(text: str, at: str) -> tuple[str, str | None]:
    """The first name of a line, and what comes after the sign; None without the sign."""
    match = _IN_QUOTES.match(text)
    if match is None:
        name, sign, rest = text.partition(at)
        return name.strip(), rest.strip() if sign else None
    rest = text[match.end() :].lstrip()
    if rest and not rest.startswith(at):
        raise ValidationError(f"After {match[0]}, “{at}” is missing.")
    return match[1].replace("``", "`"), rest[1:].lstrip() if rest else None


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def text_field(**options: Any) -> forms.CharField:
    return Lines(required=False, max_length=LONGEST, **options)
