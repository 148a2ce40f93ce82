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
