"""Forms of the roots' pages."""

from __future__ import annotations

from typing import Any

from django import forms

from console.base.errors import Problem
from tables.catalog.roots import sync_interval
from tables.catalog.roots.entries import checked_name
from tables.catalog.roots.object_stores import description_of
from tables.models import MOST_SCAN_HOURS, SYNC_SECONDS
from tables.storage.description import Described, Description
from tables.storage.stores import KINDS

_EXAMPLES = {
    one: [kind.example for kind in KINDS if kind.one == one] for one in dict.fromkeys(kind.one for kind in KINDS)
}
_SUCH = [f"{one}, such as {' or '.join(examples)}" for one, examples in _EXAMPLES.items()]
_DESCRIBED = {kind.prefix: kind.described for kind in KINDS if kind.described}
REGION = " or ".join(each.region for each in _DESCRIBED.values() if each.region)
PLACES = f"{'; '.join(_SUCH[:-1])}; or {_SUCH[-1]}."
LITERAL = {"spellcheck": "false", "autocomplete": "off", "autocapitalize": "none"}


class RootForm(forms.Form):
    """What can be changed of a root."""

    name = forms.CharField(
        max_length=100,
        strip=False,
        help_text="Letters, digits, dots, dashes and underscores.",
        widget=forms.TextInput(attrs=LITERAL),
    )
    sync_seconds = forms.IntegerField(
        required=False,
        min_value=sync_interval.SHORTEST,
        max_value=sync_interval.LONGEST,
        initial=SYNC_SECONDS,
        label="Shortest pause between two syncs of a table, in seconds",
        help_text="The pause doubles for tables that don’t change, up to a day. Empty: Levee reads logs only by hand and after "
        "its own jobs.",
    )
    scan_hours = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SCAN_HOURS,
        label="Scan for new tables every so many hours",
        help_text="Empty: Levee scans on request only.",
    )
    adds_found = forms.BooleanField(required=False, label="Add to the catalog what scans find new")

    def clean_name(self) -> str:
        try:
            return checked_name(self.cleaned_data["name"])
        except Problem as problem:
            raise forms.ValidationError(problem.detail) from None

    def wanted(self) -> dict[str, Any]:
        """The entered values, by their names in `root_changes.FIELDS`."""
        return {name: self.cleaned_data[name] for name in ("name", "sync_seconds", "scan_hours", "adds_found")}


def _storage_fields(kind: Described | None = None) -> dict[str, forms.Field]:
    """How a bucket is reached: of one kind of stores, or of any. A secret is never sent back to a page, that of a refused form included."""
    fields = _fields_of_any(
        kind.cloud if kind else " or ".join(each.cloud for each in _DESCRIBED.values() if each.cloud)
    )
    for prefix, each in {"": kind}.items() if kind else _DESCRIBED.items():
        for name, hint in each.hints.items():
            fields[name].help_text += f" For {prefix}: {hint}" if prefix else f" {hint}"
    return {name: field for name, field in fields.items() if kind is None or name in (*kind.fields, "writes")}


def _fields_of_any(cloud: str) -> dict[str, forms.Field]:
    hidden = forms.PasswordInput(attrs={**LITERAL, "autocomplete": "new-password"}, render_value=False)
    return {
        "endpoint": forms.CharField(
            required=False,
            max_length=300,
            help_text=f"As https://storage.example.org:9000. Empty: {cloud}.",
            widget=forms.TextInput(attrs=LITERAL),
        ),
        "region": forms.CharField(
            required=False,
            max_length=50,
            help_text=f"Empty: {REGION}, which stores other than AWS mostly take.",
            widget=forms.TextInput(attrs=LITERAL),
        ),
        "path_style": forms.BooleanField(
            required=False, initial=True, label="The bucket is named in the path, not in the host name"
        ),
        "key_id": forms.CharField(
            required=False,
            max_length=128,
            label="Key ID",
            help_text="No key: the identity of Levee’s own processes.",
            widget=forms.TextInput(attrs=LITERAL),
        ),
        "secret": forms.CharField(
            required=False,
            max_length=10_000,
            help_text="Stored encrypted, and never shown again.",
            widget=hidden,
        ),
        "session_token": forms.CharField(
            required=False,
            max_length=10_000,
            label="Session token",
            help_text="Only for a temporary key.",
            widget=hidden,
        ),
        "writes": forms.BooleanField(
            required=False, label="Test writing too: Levee writes one empty object or file, and deletes it"
        ),
    }


STORAGE = ("endpoint", "region", "path_style", "key_id", "secret", "session_token")


class StorageForm(forms.Form):
    """How the bucket of a root is reached, by the fields that its kind of stores takes."""

    def __init__(self, *args: Any, kind: Described, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(_storage_fields(kind))

    def description(self) -> Description:
        """As it was entered."""
        return description_of({name: self.cleaned_data[name] for name in STORAGE if name in self.fields})


class NewRootForm(RootForm):
    """A new root: also its place, and how it is reached if it lies in a bucket without a root."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(_storage_fields())

    def description(self) -> Description | None:
        """The storage as it was entered, None if it was left empty."""
        if not any(self.cleaned_data.get(name) for name in STORAGE if name != "path_style"):
            return None
        return description_of({name: self.cleaned_data.get(name) for name in STORAGE})

    @property
    def options(self) -> list[forms.BoundField]:
        """The fields of every root."""
        return [field for field in self if field.name not in (*STORAGE, "writes")]

    @property
    def storage(self) -> list[forms.BoundField]:
        """The fields of a bucket."""
        return [field for field in self if field.name in (*STORAGE, "writes")]

    uri = forms.CharField(
        max_length=4096,
        strip=False,
        label="Place",
        help_text=PLACES[:1].upper() + PLACES[1:],
        widget=forms.TextInput(attrs=LITERAL),
    )
    field_order = ["name", "uri", "sync_seconds", "scan_hours", "adds_found"]


class RemoveForm(forms.Form):
    """The root's name, typed to confirm its removal."""

    name = forms.CharField(
        max_length=100,
        strip=True,
        required=False,
        label="Type the root’s name to confirm",
        widget=forms.TextInput(attrs={**LITERAL, "data-confirms": True}),
    )

    def __init__(self, *args: Any, expected: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected = expected

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self.expected:
            raise forms.ValidationError(f"Type {self.expected} to confirm. Nothing was removed.")
        return name
