"""The form of the first story: two colleagues at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django import forms

from console.accounts.roles import Role
from console.base.errors import Problem
from console.pages.home.colleagues import APPROVER, ROLES


def _name(label: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"})
    return forms.CharField(max_length=64, label=label, widget=widget)


class ColleaguesForm(forms.Form):
    """The names of who asks and of who approves, or of the one that is missing."""

    asker = _name("Name of who asks")
    approver = _name("Name of who approves")

    def __init__(self, given: Mapping[str, str] | None = None, *, wanted: Collection[str]) -> None:
        super().__init__(given, auto_id="colleague-%s")
        for name in ROLES.keys() - set(wanted):
            del self.fields[name]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if any(name in self.data for name in ROLES.keys() - self.fields.keys()):
            self.add_error(None, "Meanwhile one of the two is there already: see who is missing now. Nobody was added.")
        names = [str(name).lower() for name in given.values()]
        if len(names) != len(set(names)):
            self.add_error(APPROVER, "These must be two people: nobody approves their own request.")
        return given

    @property
    def people(self) -> dict[str, Role]:
        """The role that each name is to have."""
        return {name: ROLES[field] for field, name in self.cleaned_data.items()}

    def refuse(self, problem: Problem) -> None:
        """Says at the field of the name that it is about why nobody was added."""
        for field, name in list(self.cleaned_data.items()):
            if name == problem.extra.get("person"):
                self.add_error(field, f"{problem.detail} Nobody was added.")
        if not self.errors:
            self.add_error(None, problem.detail)
