"""Forms of the pages that show rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from jobs.predicates.reading import MAX_LENGTH
from jobs.reads.rows import USUAL_ROWS
from jobs.web.reads.row_cells import visible

MAX_VERSION = 2**63 - 1
LIMITS = (20, USUAL_ROWS, 500, 1000)


def _limit() -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        choices=[(limit, f"{limit:,}") for limit in LIMITS],
        coerce=int,
        label="At most",
    )


def _version(label: str, hint: str, *, required: bool = False) -> forms.IntegerField:
    widget = forms.TextInput(attrs={"placeholder": hint, "autocomplete": "off", "inputmode": "numeric"})
    return forms.IntegerField(required=required, min_value=0, max_value=MAX_VERSION, label=label, widget=widget)


class AnyColumns(forms.MultipleChoiceField):
    """Columns of the newest version to select; an address can name those of an older one."""

    def valid_value(self, value: Any) -> bool:
        return 0 < len(str(value)) <= 1000 and "\x00" not in str(value)


def _with_limit(data: Any) -> Any:
    """Adds the default limit if none is given, so that the page shows it."""
    if "limit" in data:
        return data
    more = data.copy()
    more["limit"] = USUAL_ROWS
    return more


class RowsForm(forms.Form):
    """Which rows; nothing filled in is a sample of the newest version, all columns."""

    version = _version("Version", "newest")
    timestamp = forms.DateTimeField(
        required=False,
        label="or as of, UTC",
        widget=forms.DateTimeInput(attrs={"placeholder": "2026-11-20 12:00", "autocomplete": "off"}),
    )
    predicate = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        label="Where",
        widget=forms.TextInput(
            attrs={"placeholder": "country = 'FR' AND day < DATE '2020-01-01'", "autocomplete": "off"}
        ),
    )
    limit = _limit()

    def __init__(self, data: Any, names: Sequence[str]) -> None:
        super().__init__(_with_limit(data))
        self.fields["columns"] = AnyColumns(
            required=False,
            choices=[(name, visible(name)) for name in names],
            widget=forms.CheckboxSelectMultiple,
        )

    def clean_columns(self) -> list[str] | None:
        """None for all of them."""
        return list(dict.fromkeys(self.cleaned_data["columns"])) or None

    def given(self) -> dict[str, Any]:
        """The form's values, as the read takes them."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class ChangesForm(forms.Form):
    """Which changes; without `to_version` up to the newest."""

    from_version = _version("From version", "0", required=True)
    to_version = _version("To version", "newest")
    limit = _limit()

    def __init__(self, data: Any) -> None:
        super().__init__(_with_limit(data))

    def given(self) -> dict[str, Any]:
        """The form's values, as the read takes them."""
        return {name: value for name, value in self.cleaned_data.items() if value is not None}


class RowDiffForm(ChangesForm):
    """Which two versions; given the other way round, they are turned."""

    to_version = _version("To version", "newest", required=True)

    def clean(self) -> dict[str, Any]:
        """Refuses one version twice."""
        given = super().clean() or self.cleaned_data
        pair = [given[name] for name in ("from_version", "to_version") if name in given]
        if len(pair) == 2 and pair[0] == pair[1]:
            self.add_error("to_version", "Enter two different versions.")
        elif len(pair) == 2:
            given["from_version"], given["to_version"] = sorted(pair)
        return given
