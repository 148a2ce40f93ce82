"""The form of one's own preferences."""

from __future__ import annotations

from django import forms

from console.accounts.models import Person
from console.base import zones

THEMES = [("auto", "Match system"), ("light", "Light"), ("dark", "Dark")]
DENSITIES = [("compact", "Compact: more rows at a glance"), ("comfortable", "Comfortable: taller rows")]


def _zones() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in zones.names()]


class PreferencesForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs alone
    """How Levee looks to one person, and whether single keys act."""

    theme = forms.ChoiceField(choices=THEMES, widget=forms.RadioSelect)
    density = forms.ChoiceField(choices=DENSITIES, widget=forms.RadioSelect)
    time_zone = forms.ChoiceField(
        choices=_zones,
        label="Time zone",
        help_text="Times appear in it, with UTC beside them. Filters, the API and exports stay UTC.",
    )
    shortcuts = forms.BooleanField(
        required=False,
        label="Keyboard shortcuts",
        widget=forms.CheckboxInput(attrs={"class": "lv-check"}),
        help_text="Single keys such as j, k and /. Turn them off if they get in the way of speech input or other aids.",
    )

    class Meta:
        model = Person
        fields = ("theme", "density", "time_zone", "shortcuts")
