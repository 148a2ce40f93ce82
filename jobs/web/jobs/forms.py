"""Forms of jobs."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import ClassVar

from django import forms

from jobs.commands.registry import ROWS
from jobs.domain.states import State
from jobs.web.jobs.queries import JobFilter


def _commands() -> list[tuple[str, str]]:
    return [("", "any"), *((kind, kind.replace("_", " ")) for kind in ROWS)]


def _day(label: str) -> forms.DateField:
    return forms.DateField(
        required=False,
        label=label,
        error_messages={"invalid": "Enter a day as YYYY-MM-DD."},
        widget=forms.DateInput(attrs={"class": "form-control", "placeholder": "YYYY-MM-DD"}),
    )


class JobFilterForm(forms.Form):
    """How the list of jobs is narrowed."""

    state = forms.ChoiceField(
        required=False,
        choices=[("", "any"), ("open", "not ended"), *[(s.value, s.value.replace("_", " ")) for s in State]],
        widget=forms.Select(attrs={"class": "form-control lv-select"}),
    )
    command = forms.ChoiceField(
        required=False, choices=_commands, widget=forms.Select(attrs={"class": "form-control lv-select"})
    )
    by = forms.CharField(
        required=False, max_length=64, label="Requested by", widget=forms.TextInput(attrs={"class": "form-control"})
    )
    on = forms.CharField(
        required=False, max_length=300, label="Table", widget=forms.TextInput(attrs={"class": "form-control"})
    )
    reason = forms.CharField(
        required=False, max_length=300, label="Reason has", widget=forms.TextInput(attrs={"class": "form-control"})
    )
    since = _day("Requested since")
    until = _day("until")
    table = forms.UUIDField(required=False, widget=forms.HiddenInput)
    id = forms.RegexField(r"^[0-9a-fA-F-]{8,36}$", required=False, widget=forms.HiddenInput)

    def wanted(self) -> JobFilter:
        """The filter; days are those of UTC, the last one whole. Of a form with faults, what is right in it."""
        self.is_valid()
        given = self.cleaned_data
        last = given.get("until")
        return JobFilter(
            state=given.get("state", ""),
            command=given.get("command", ""),
            by=given.get("by", ""),
            table=str(given.get("table") or ""),
            on=given.get("on", ""),
            reason=given.get("reason", ""),
            since=_midnight(given.get("since")),
            before=_midnight(last + timedelta(days=1)) if last and last < date.max else None,
            id=given.get("id", ""),
        )


def _midnight(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC)


class TravelForm(forms.Form):
    """How to load the live object; an empty form loads the latest version, as `GET /tables/{id}/deltatable` does."""

    HINTS: ClassVar[dict[str, str]] = {
        "version": "12",
        "timestamp": "2026-11-20 12:00",
        "at": "@v12 or @20261120120000000",
        "partition": "day=2026-11-20/country=FR",
        "starting_version": "0",
        "ending_version": "newest",
    }

    version = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, label="Version")
    timestamp = forms.DateTimeField(required=False, label="Timestamp, UTC")
    at = forms.RegexField(r"^@(v[0-9]{1,18}|[0-9]{17})$", required=False, label="Path with")
    partition = forms.CharField(required=False, max_length=2000, label="Directory below")
    by = forms.ChoiceField(
        required=False,
        label="Opened by",
        choices=[("", "its name, if any"), ("path", "its path"), ("name", "its name")],
    )
    read_change_feed = forms.BooleanField(required=False, label="As the change feed")
    starting_version = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, label="from version")
    ending_version = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, label="to version")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name, field in self.fields.items():
            if name in self.HINTS:
                hint = {"placeholder": self.HINTS[name], "autocomplete": "off"}
                field.widget.attrs |= {"class": "form-control lv-mono", **hint}
        self.fields["by"].widget.attrs["class"] = "form-control lv-select"
        self.fields["read_change_feed"].widget.attrs["class"] = "lv-check"

    def given(self) -> dict[str, object]:
        """The form's values, as the read's question takes them."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "", False)}
