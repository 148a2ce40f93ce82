"""The form of a stream: what a person types, and the mapping that it asks for, in the API's shape."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from console.base.errors import Problem
from jobs.commands.stream_round.rules import APPEND, COMPLETE, FILE_FORMATS, is_on
from jobs.streams.definition import AVAILABLE_NOW

LONGEST = 20_000  # characters of a field
FILES, TABLE = "files", "table"
EVERY = "every"
_IN_QUOTES = re.compile(r"`((?:[^`]|``)+)`(?!`)")  # a name that holds a comma or an equals sign
_PLAIN = re.compile(r"[^\s`,=]+(?: +[^\s`,=]+)*")
# Options with a field of their own; the others are lines of `name=value`.
OWN_OPTIONS = ("mergeSchema", "overwriteSchema", "maxFilesPerTrigger")


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


class Names(_Typed):
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


def _text(**options: Any) -> forms.CharField:
    return Lines(required=False, max_length=LONGEST, **options)


class StreamForm(forms.Form):
    """Everything that defines a stream. Whether it can run is for `jobs.streams` to say: `refused` shows what it says."""

    name = forms.CharField(max_length=200)
    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why the stream exists. Approvers read it, and the audit log keeps it.",
        error_messages={"required": "Enter a reason: approvers read it."},
    )
    source_kind = forms.ChoiceField(
        choices=[(FILES, "Files in a directory"), (TABLE, "A Delta table")],
        widget=forms.RadioSelect,
        initial=FILES,
        label="The stream reads",
    )
    path = _text(label="Directory", help_text="Below one of your roots. New files are read once; changed files aren’t.")
    format = forms.ChoiceField(required=False, choices=[(name, name) for name in FILE_FORMATS])
    schema = _text(
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="Columns and types as SQL writes them: id BIGINT, at TIMESTAMP. A stream doesn’t guess them from files.",
    )
    source_table = _text(label="Table", help_text="Its name in the catalog, or its id.")
    starting_version = forms.IntegerField(
        required=False,
        min_value=0,
        label="From version",
        help_text="Empty: the whole table first, then each commit. With a version: only the commits from it on.",
    )
    starting_timestamp = _text(label="or from a time", help_text="2026-11-20 or 2026-11-20T08:00:00Z")
    skip_change_commits = forms.BooleanField(
        required=False,
        label="Skip commits that update or delete rows",
        help_text="Without it, such a commit fails the stream.",
    )
    source_options = Pairs("option=value", label="Source options", help_text="One option=value per line: header=true")

    rename = Pairs("old=new", label="Rename", help_text="One old=new per line.")
    cast = Pairs("column=type", label="Cast", help_text="One column=type per line: amount=decimal(10,2)")
    filter = _text(
        label="Keep rows where",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="A condition as in a delete: country = 'FR' AND amount > 0. Empty: every row.",
    )
    select = Names(label="Columns", help_text="With commas between them. Empty: all columns.")
    group_by = Names(
        label="Count rows by", help_text="An aggregation: columns with commas between them. Needs complete mode."
    )
    count_as = _text(label="Count column", help_text="The column that holds the count.")

    target = _text(help_text="The path of a directory, or the name or id of a table. A new directory becomes a table.")
    partition_by = Names(label="Partition columns", help_text="For a new table; an existing one keeps its own.")
    output_mode = forms.ChoiceField(
        choices=[(APPEND, "Append: adds the new rows"), (COMPLETE, "Complete: replaces every row at each batch")],
        initial=APPEND,
        label="Output mode",
    )
    merge_schema = forms.BooleanField(required=False, label="mergeSchema: a new column is added to the table")
    overwrite_schema = forms.BooleanField(
        required=False, label="overwriteSchema: another schema replaces the table’s, in complete mode only"
    )
    max_files = _text(
        label="Files per batch",
        help_text="maxFilesPerTrigger. Empty: Spark’s own limit, 1,000 for a Delta table, none for files.",
    )
    other_options = Pairs("option=value", label="Other options", help_text="One option=value per line.")
    trigger = forms.ChoiceField(
        choices=[
            (AVAILABLE_NOW, "Available now: each start reads what is there, then stops"),
            (EVERY, "At an interval"),
        ],
        widget=forms.RadioSelect,
        initial=AVAILABLE_NOW,
        label="The stream runs",
    )
    interval = _text(label="Every", help_text="Seconds, or with a unit: 30s, 5m, 2h. At least 10 s.")
    checkpoint = _text(help_text="An empty directory below a root. Empty: Levee keeps it in a place of its own.")

    def asked(self) -> dict[str, Any]:
        """What was typed, as `jobs.streams.acts` takes it. The form must be valid."""
        return asked_of(self.cleaned_data)

    def refused(self, problem: Problem) -> None:
        """Shows a refusal at the fields that it names, else above the form."""
        named = problem.fields or {}
        if problem.code == "predicate_refused":  # it names the place in the text
            named = {"filter": problem.detail}
        shown = {_field_of(key): text for key, text in named.items()}
        for field, text in shown.items():
            self.add_error(field if field in self.fields else None, text)
        if not shown:
            self.add_error(None, problem.detail)


class EditForm(StreamForm):
    """A stream's definition as it is, to be changed; its target and checkpoint stay."""

    target = None  # type: ignore[assignment]
    checkpoint = None  # type: ignore[assignment]

    def changes(self) -> dict[str, Any]:
        """The parts that were changed, with name and reason. The form must be valid."""
        before = asked_of(self.initial)
        after = self.asked()
        changed = {part: value for part, value in after.items() if value != before[part]}
        return {"name": self.cleaned_data["name"], "reason": self.cleaned_data["reason"], **changed}


# A refusal names parts of the request as the API has them.
FIELDS = {
    "source": "source_kind", "source.path": "path", "source.format": "format", "source.schema": "schema",
    "source.table": "source_table", "source.options": "source_options", "source.starting_version": "starting_version",
    "source.starting_timestamp": "starting_timestamp", "source.skip_change_commits": "skip_change_commits",
    "options": "other_options", "aggregate": "count_as", "aggregate.group_by": "group_by", "trigger": "interval",
    "options.maxFilesPerTrigger": "max_files", "options.mergeSchema": "merge_schema", "options.overwriteSchema": "overwrite_schema",
}  # fmt: skip


def _field_of(key: str) -> str:
    """The form's field for a part of the request: the part's own, else that of the whole it belongs to."""
    whole = key.partition(".")[0]
    return FIELDS.get(key) or FIELDS.get(whole) or whole


def asked_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping in the API's shape, from the form's values. An empty part is empty, never missing."""
    return {
        "source": _source(given),
        "rename": given.get("rename") or {},
        "cast": given.get("cast") or {},
        "filter": given.get("filter") or "",
        "select": given.get("select") or [],
        "aggregate": _aggregate(given),
        "target": _target(given.get("target") or ""),
        "checkpoint": given.get("checkpoint") or None,
        "output_mode": given.get("output_mode") or APPEND,
        "partition_by": given.get("partition_by") or [],
        "options": _options(given),
        "trigger": _trigger(given),
    }


def _source(given: Mapping[str, Any]) -> dict[str, Any]:
    options = given.get("source_options")
    if given.get("source_kind") == TABLE:
        parts = {
            "table": given.get("source_table"),
            "starting_version": given.get("starting_version"),
            "starting_timestamp": given.get("starting_timestamp"),
            "skip_change_commits": given.get("skip_change_commits"),
            "options": options,
        }
    else:
        parts = {
            "path": given.get("path"),
            "format": given.get("format"),
            "schema": given.get("schema"),
            "options": options,
        }
    return {name: value for name, value in parts.items() if value or (value == 0 and value is not False)}


def _aggregate(given: Mapping[str, Any]) -> dict[str, Any]:
    if not given.get("group_by") and not given.get("count_as"):
        return {}
    return {"group_by": given.get("group_by") or [], "count_as": given.get("count_as") or ""}


def _target(text: str) -> dict[str, str]:
    if not text:
        return {}
    return {"path": text} if text.startswith("/") or "://" in text else {"table": text}


def _options(given: Mapping[str, Any]) -> dict[str, str]:
    own = {
        "mergeSchema": "true" if given.get("merge_schema") else "",
        "overwriteSchema": "true" if given.get("overwrite_schema") else "",
        "maxFilesPerTrigger": given.get("max_files") or "",
    }
    return {**(given.get("other_options") or {}), **{name: value for name, value in own.items() if value}}


def _trigger(given: Mapping[str, Any]) -> Any:
    if given.get("trigger") != EVERY:
        return AVAILABLE_NOW
    text = str(given.get("interval") or "")
    return {"interval": f"{text}s" if text.isdecimal() else text}


def values_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A stream's request as the form's values."""
    options = {name: _option_text(value) for name, value in (asked.get("options") or {}).items()}
    own = {name.lower(): options.pop(name) for name in list(options) if name.lower() in _OWN}
    aggregate: Mapping[str, Any] = asked.get("aggregate") or {}
    trigger = asked.get("trigger")
    interval = trigger.get("interval") if isinstance(trigger, Mapping) else None
    return {
        **_source_values(asked.get("source") or {}),
        **{part: dict(asked.get(part) or {}) for part in ("rename", "cast")},
        **{part: list(asked.get(part) or []) for part in ("select", "partition_by")},
        "filter": str(asked.get("filter") or "").strip(),
        "group_by": list(aggregate.get("group_by") or []),
        "count_as": str(aggregate.get("count_as") or "").strip(),
        "output_mode": str(asked.get("output_mode") or APPEND).lower(),
        "merge_schema": is_on(own.get("mergeschema")),
        "overwrite_schema": is_on(own.get("overwriteschema")),
        "max_files": own.get("maxfilespertrigger", ""),
        "other_options": options,
        "trigger": EVERY if interval else AVAILABLE_NOW,
        "interval": str(interval or ""),
    }


_OWN = frozenset(name.lower() for name in OWN_OPTIONS)


def _option_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _source_values(source: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: _option_text(value) for name, value in (source.get("options") or {}).items()}
    return {
        "source_kind": TABLE if source.get("table") else FILES,
        "path": source.get("path") or "",
        "format": source.get("format") or FILE_FORMATS[0],
        "schema": _schema_text(source.get("schema") or "").strip(),
        "source_table": source.get("table") or "",
        "starting_version": source.get("starting_version"),
        "starting_timestamp": source.get("starting_timestamp") or "",
        "skip_change_commits": bool(source.get("skip_change_commits")),
        "source_options": options,
    }


def _schema_text(schema: Any) -> str:
    """A schema as the API took it: SQL's text, or Spark's JSON."""
    return schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False, indent=1)
