"""Forms of jobs."""

from __future__ import annotations

from django import forms

from jobs.domain.states import State


class JobFilterForm(forms.Form):
    """How the list of jobs is narrowed."""

    state = forms.ChoiceField(
        required=False,
        choices=[("", "any"), ("open", "not ended"), *[(s.value, s.value.replace("_", " ")) for s in State]],
        widget=forms.Select(attrs={"class": "form-control lv-select"}),
    )
    by = forms.CharField(
        required=False, max_length=64, label="Asked by", widget=forms.TextInput(attrs={"class": "form-control"})
    )
    table = forms.UUIDField(required=False, widget=forms.HiddenInput)


class TravelForm(forms.Form):
    """The version at which the live object is read; all three empty is the latest."""

    version = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, label="Version")
    timestamp = forms.DateTimeField(required=False, label="Timestamp, UTC")
    at = forms.RegexField(r"^@(v[0-9]{1,18}|[0-9]{17})$", required=False, label="Path with")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        hints = {"version": "12", "timestamp": "2026-11-20 12:00", "at": "@v12 or @20261120120000000"}
        for name, field in self.fields.items():
            field.widget.attrs |= {"class": "form-control lv-mono", "placeholder": hints[name], "autocomplete": "off"}

    def given(self) -> dict[str, object]:
        """What was asked, as the read's question takes it."""
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        return values | ({"by": "path"} if "at" in values else {})
