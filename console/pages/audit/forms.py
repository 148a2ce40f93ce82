"""The filter of the page of events."""

from __future__ import annotations

from typing import Any

from django import forms

from console.audit.actions import Action, EventOutcome
from console.audit.queries import EventFilter
from console.base.text.short_ids import BEGINNING

ANY = ("", "any")


class AuditForm(forms.Form):
    object = forms.CharField(required=False, max_length=4000, label="Object")
    actor = forms.CharField(required=False, max_length=64, label="Who")
    action = forms.ChoiceField(required=False, choices=[ANY, *((value, value) for value in Action.values)], label="Act")
    outcome = forms.ChoiceField(required=False, choices=[ANY, *((v, v) for v in EventOutcome.values)], label="Outcome")
    q = forms.CharField(required=False, max_length=200, label="Words of the reason")
    since = forms.DateTimeField(required=False, label="Since, UTC")
    until = forms.DateTimeField(required=False, label="Until, UTC")
    table = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)
    job = forms.RegexField(rf"^{BEGINNING}\Z", required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hints = {"object": "name, id or kind:id", "actor": "anyone", "since": "2026-11-20 12:00", "until": "2026-11-21"}
        for name, hint in hints.items():
            self.fields[name].widget.attrs |= {"placeholder": hint, "autocomplete": "off"}

    def wanted(self) -> EventFilter:
        """The filter from the form; an invalid value filters nothing."""
        if not self.is_valid():
            return EventFilter()
        return EventFilter(**{name: value for name, value in self.cleaned_data.items() if value})
