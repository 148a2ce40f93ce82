"""Forms of a review: a decision, a comment, an undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.base.errors import Problem
from jobs.approvals.decisions import COMMENT_LENGTH
from jobs.requests.asking import REASON_LENGTH


def text_area(rows: int, **attributes: Any) -> forms.Textarea:
    """A text area of so many lines."""
    return forms.Textarea(attrs={"rows": rows, **attributes})


class DecisionForm(forms.Form):
    """An approval or rejection of exactly the digest that the page showed."""

    digest = forms.CharField(max_length=64, widget=forms.HiddenInput)
    comment = forms.CharField(
        label="Comment (optional)",
        required=False,
        max_length=COMMENT_LENGTH,
        widget=text_area(3, **{"hx-preserve": "true"}),
    )


class CommentForm(forms.Form):
    """A comment on the request."""

    comment = forms.CharField(
        label="Add a comment", max_length=COMMENT_LENGTH, widget=text_area(2, **{"hx-preserve": "true"})
    )


class UndoForm(forms.Form):
    """The reason, and the later commits to undo as well: versions, or one range of them (`5-1200`)."""

    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH, widget=text_area(3))

    def __init__(self, *arguments: Any, later: Mapping[str, str], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.fields["accept"] = forms.MultipleChoiceField(
            label="Commits to undo as well",
            choices=list(later.items()),
            required=False,
            widget=forms.CheckboxSelectMultiple,
        )

    def accepted(self) -> list[int]:
        """The selected versions."""
        return [version for value in self.cleaned_data["accept"] for version in _versions(value)]


def _versions(value: str) -> range:
    first, _, last = value.partition("-")
    return range(int(first), int(last or first) + 1)


def require_valid(form: forms.Form) -> dict[str, Any]:
    """The form's values. Raises Problem 400 `invalid`, which names the wrong fields."""
    if form.is_valid():
        return dict(form.cleaned_data)
    fields = {name: " ".join(map(str, errors)) for name, errors in form.errors.items()}
    raise Problem(400, "invalid", f"Nothing was changed: {' '.join(fields.values())}", fields=fields)
