"""Forms of the catalog's pages."""

from __future__ import annotations

from django import forms

from tables.models import Table
from tables.rules.health_findings import HealthCode

ORDERS = [
    ("", "Default"),
    ("name", "by name"),
    ("-size", "largest first"),
    ("-changed", "last changed first"),
    ("-files", "most files first"),
]


class PathForm(forms.Form):
    """One directory by its path, taken letter by letter."""

    path = forms.CharField(
        max_length=4096,
        strip=False,
        help_text="Absolute, below a root that you have access to, such as /lake/orders. No patterns, no links.",
        widget=forms.TextInput(
            attrs={
                "class": "form-control lv-mono",
                "spellcheck": "false",
                "autocomplete": "off",
                "autocapitalize": "none",
            }
        ),
    )


class HistoryForm(forms.Form):
    """The filter of a history."""

    operation = forms.CharField(required=False, max_length=100)
    by = forms.CharField(required=False, max_length=200, label="By")
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"placeholder": "YYYY-MM-DD"}))
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"placeholder": "YYYY-MM-DD"}))
    before = forms.IntegerField(required=False, min_value=0, max_value=2**63 - 1, label="Before version")
    job = forms.CharField(required=False, max_length=36, widget=forms.TextInput(attrs={"placeholder": "a81f03c7"}))


class DescribeForm(forms.Form):
    """A table's description, owner, tags, and name in the catalog."""

    catalog_name = forms.CharField(
        required=False,
        max_length=300,
        label="Name in the catalog",
        help_text="database.table, of letters, digits and underscores. Spark then knows the table by it. Empty: none.",
        widget=forms.TextInput(
            attrs={
                "class": "form-control lv-mono",
                "spellcheck": "false",
                "autocomplete": "off",
                "autocapitalize": "none",
            }
        ),
    )
    owner = forms.CharField(required=False, max_length=100, widget=forms.TextInput(attrs={"class": "form-control"}))
    description = forms.CharField(
        required=False, max_length=10_000, widget=forms.Textarea(attrs={"class": "form-control", "rows": 4})
    )
    tags = forms.CharField(
        required=False,
        max_length=2_000,
        help_text="Separated by commas. Policies read them, so only administrators can set them.",
        widget=forms.TextInput(attrs={"class": "form-control"}),
    )


FACET_NAMES = {
    "format": dict(Table.Format.choices) | {"delta": "Delta", "parquet": "Parquet only"},
    "health": dict(HealthCode.choices) | {"error": "Any error", "warning": "Any finding", "any": "Any finding"},
    "age": {"day": "Within 24 h", "old": "Older than 90 days"},
}
