"""A form's fields: which classes their widgets get."""

from __future__ import annotations

from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, HiddenInput, RadioSelect, Select
from django.utils.safestring import SafeString


def control(field: BoundField) -> SafeString:
    """A form field's widget with the classes of its kind, so that forms don't define looks."""
    match field.field.widget:
        case CheckboxInput() | CheckboxSelectMultiple() | RadioSelect() | HiddenInput():
            return SafeString(field)  # nosec B703  # a widget of Django’s, which escapes its values
        case Select():
            return field.as_widget(attrs={"class": "form-control lv-select"})
    return field.as_widget(attrs={"class": "form-control"})
