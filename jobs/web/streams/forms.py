"""The form of a stream, in three steps: what it reads, what it makes of it and where that goes, when it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import QueryDict

from console.base.errors import Problem
from jobs.commands.stream_round.rules import APPEND, COMPLETE, FILE_FORMATS
from jobs.streams.definition import AVAILABLE_NOW
from jobs.streams.faults import StreamFault
from jobs.web.streams import columns
from jobs.web.streams.fields import NamesField, Pairs, text_field
from jobs.web.streams.form_values import DIRECTORY, EVERY, FILES, TABLE, asked_of

# The fields of each step, in the order of the page.
STEPS: Mapping[str, tuple[str, ...]] = {
    "source": (
        "source_kind", "path", "format", "source_table", "starting_version", "starting_timestamp", "skip_change_commits", "source_options",
        "schema",
    ),
    "target": (
        "rename", "cast", "filter", "select", "group_by", "count_as", "target_kind", "target_path", "target_table", "output_mode",
        "partition_by", "merge_schema", "overwrite_schema", "checkpoint",
    ),
    "trigger": ("trigger", "interval", "interval_unit", "max_files", "other_options", "name", "reason"),
}  # fmt: skip
ROW_STEPS = {"rename", "cast", "filter", "select", "group_by", "count_as"}
TITLES = {"source": "Source", "target": "Steps and target", "trigger": "Trigger"}
PATH_HINT = "A path below one of your roots, such as /lake/clicks."


class StreamForm(forms.Form):
    """Everything that defines a stream. Whether it can run is for `jobs.streams` to say: `refused` shows what it says."""

    use_required_attribute = (
        False  # a browser would stop at the first empty field, and at one of a step that isn't shown
    )

    source_kind = forms.ChoiceField(
        choices=[(FILES, "Files in a directory"), (TABLE, "A Delta table")],
        widget=forms.RadioSelect,
        initial=FILES,
        label="The stream reads",
    )
    path = text_field(label="Directory", help_text=f"{PATH_HINT} New files are read once; changed files aren’t.")
    format = forms.ChoiceField(required=False, choices=[(name, name) for name in FILE_FORMATS])
    schema = text_field(
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        label="Columns",
        help_text="Columns and types as SQL writes them: id BIGINT, at TIMESTAMP.",
    )
    source_table = text_field(label="Table", help_text="Its name in the catalog, or its id.")
    starting_version = forms.IntegerField(
        required=False,
        min_value=0,
        label="From version",
        help_text="Empty: the whole table first, then each commit. With a version: only the commits from it on.",
    )
    starting_timestamp = text_field(label="or from a time", help_text="2026-11-20 or 2026-11-20T08:00:00Z")
    skip_change_commits = forms.BooleanField(
        required=False,
        label="Skip commits that update or delete rows",
        help_text="Without it, such a commit fails the stream.",
    )
    source_options = Pairs("option=value", label="Source options", help_text="One option=value per line: header=true")

    rename = Pairs("old=new", label="Rename", help_text="One old=new per line.")
    cast = Pairs("column=type", label="Cast", help_text="One column=type per line: amount=decimal(10,2)")
    filter = text_field(
        label="Keep rows where",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text="A condition as in a delete: country = 'FR' AND amount > 0. Empty: every row.",
    )
    select = NamesField(label="Columns to keep", help_text="With commas between them. Empty: all columns.")
    group_by = NamesField(
        label="Count rows by", help_text="An aggregation: columns with commas between them. Needs complete mode."
    )
    count_as = text_field(label="Count column", help_text="The column that holds the count.")

    target_kind = forms.ChoiceField(
        choices=[(DIRECTORY, "A directory, by its path"), (TABLE, "A table of the catalog")],
        widget=forms.RadioSelect,
        initial=DIRECTORY,
        required=False,
        label="The stream writes into",
    )
    target_path = text_field(
        label="Target directory",
        help_text=f"{PATH_HINT} The first batch makes the table if there is none yet.",
    )
    target_table = text_field(label="Target table", help_text="Its name in the catalog, or its id.")
    output_mode = forms.ChoiceField(
        choices=[(APPEND, "Append: adds the new rows"), (COMPLETE, "Complete: replaces every row at each batch")],
        initial=APPEND,
        label="Output mode",
    )
    partition_by = NamesField(label="Partition columns", help_text="For a new table; an existing one keeps its own.")
    merge_schema = forms.BooleanField(required=False, label="mergeSchema: a new column is added to the table")
    overwrite_schema = forms.BooleanField(
        required=False, label="overwriteSchema: another schema replaces the table’s, in complete mode only"
    )
    checkpoint = text_field(help_text="An empty directory below a root. Empty: Levee keeps it in a place of its own.")

    trigger = forms.ChoiceField(
        choices=[
            (AVAILABLE_NOW, "When you start it: it reads what is there, then stops"),
            (EVERY, "Again and again, until you stop it"),
        ],
        widget=forms.RadioSelect,
        initial=AVAILABLE_NOW,
        label="The stream runs",
    )
    interval = forms.IntegerField(required=False, min_value=1, max_value=999_999, label="Every")
    interval_unit = forms.ChoiceField(
        choices=[("s", "seconds"), ("m", "minutes"), ("h", "hours")], initial="s", required=False, label="Unit"
    )
    max_files = text_field(
        label="Files per batch",
        help_text="maxFilesPerTrigger. Empty: Spark’s own limit, 1,000 for a Delta table, none for files.",
    )
    other_options = Pairs("option=value", label="Other options", help_text="One option=value per line.")
    name = forms.CharField(
        max_length=200, label="Name of the stream", error_messages={"required": "Enter a name for the stream."}
    )
    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Why the stream exists. Approvers read it, and the audit log keeps it.",
        error_messages={"required": "Enter a reason: approvers read it."},
    )

    def clean(self) -> dict[str, Any]:
        """An interval is a number: what has none is no request at all. A field that isn't shown asks for nothing."""
        given = super().clean() or self.cleaned_data
        for name in self._unasked(given):
            given[name] = None
            self.errors.pop(name, None)
        if given.get("trigger") == EVERY and not given.get("interval") and "interval" not in self.errors:
            self.add_error("interval", "Enter how often it runs: a number of seconds, minutes or hours.")
        return given

    def _unasked(self, given: Mapping[str, Any]) -> Iterator[str]:
        """The fields that choices hide and whose text may be none of theirs."""
        if given.get("trigger") != EVERY:
            yield "interval"
        if given.get("source_kind") != TABLE:
            yield "starting_version"

    def asked(self) -> dict[str, Any]:
        """What was typed, as `jobs.streams.acts` takes it; without what isn't valid."""
        return asked_of(self.cleaned_data)

    def refused(self, fields: Iterable[tuple[str, str]]) -> None:
        """Shows refusals at the fields that they are about, else above the form. A field that can't be read says that alone."""
        unread = set(self.errors)
        for part, text in fields:
            field = self._field_of(part)
            if field == "schema":
                text = columns.said(cast(QueryDict, self.data), str(self["schema"].value() or ""), text)
            # What a step that can't be read would have made of the columns is unknown: the others are judged once it can.
            if field not in unread and not (field in ROW_STEPS and unread & ROW_STEPS):
                self.add_error(field if field in self.fields else None, text)

    def _field_of(self, part: str) -> str:
        """The form's field for a part of the request: the part's own, else that of the whole it belongs to."""
        whole = part.partition(".")[0]
        if part in {"source", "target"}:
            kind = self.cleaned_data.get(f"{part}_kind")
            return ("source_table" if kind == TABLE else "path") if part == "source" else _target_field(kind)
        return FIELDS.get(part) or FIELDS.get(whole) or whole

    def keep_errors(self, fields: Iterable[str]) -> None:
        """Drops the errors of all other fields: of steps that nobody has been at yet."""
        kept = {*fields, NON_FIELD_ERRORS}
        for name in set(self.errors) - kept:
            del self.errors[name]


def _target_field(kind: Any) -> str:
    return "target_table" if kind == TABLE else "target_path"


class StreamEditForm(StreamForm):
    """A stream's definition as it is, to be changed; its target and checkpoint stay."""

    target_kind = None  # type: ignore[assignment]
    target_path = None  # type: ignore[assignment]
    target_table = None  # type: ignore[assignment]
    checkpoint = None  # type: ignore[assignment]

    def changes(self) -> dict[str, Any]:
        """The parts that were changed, with name and reason. What isn't valid is not among them."""
        before = asked_of(self.initial)
        after = self.asked()
        changed = {part: value for part, value in after.items() if value != before[part]}
        named: dict[str, Any] = {
            part: self.cleaned_data[part] for part in ("name", "reason") if part in self.cleaned_data
        }
        return {**named, **changed}


def fields_of(refusal: Problem | list[StreamFault]) -> list[tuple[str, str]]:
    """The parts of the request that refusals are about, each with what is wrong with it."""
    if isinstance(refusal, Problem):
        named = {"filter": refusal.detail} if refusal.code == "predicate_refused" else refusal.fields
        return list((named or {"": refusal.detail}).items())
    return [(part, text) for fault in refusal for part, text in fault.fields.items()]


# A refusal names parts of the request as the API has them.
FIELDS = {
    "source.path": "path", "source.format": "format", "source.schema": "schema",
    "source.table": "source_table", "source.options": "source_options", "source.starting_version": "starting_version",
    "source.starting_timestamp": "starting_timestamp", "source.skip_change_commits": "skip_change_commits",
    "target.path": "target_path", "target.table": "target_table",
    "options": "other_options", "aggregate": "count_as", "aggregate.group_by": "group_by", "trigger": "interval",
    "options.maxFilesPerTrigger": "max_files", "options.mergeSchema": "merge_schema", "options.overwriteSchema": "overwrite_schema",
}  # fmt: skip
