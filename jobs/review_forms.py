"""Forms of a review: a decision, a word, another wording of the request, an undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from console.errors import Problem
from jobs.predicates import MAX_LENGTH
from jobs.requests import REASON_LENGTH
from jobs.reviews import COMMENT_LENGTH


def _text(rows: int, **attributes: Any) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, **attributes})


class DecisionForm(forms.Form):
    """A yes or no to exactly the digest that the page showed."""

    digest = forms.CharField(max_length=64, widget=forms.HiddenInput)
    comment = forms.CharField(
        label="Comment (optional)",
        required=False,
        max_length=COMMENT_LENGTH,
        widget=_text(3, **{"hx-preserve": "true"}),
    )


class CommentForm(forms.Form):
    """A word on the request."""

    comment = forms.CharField(
        label="Say something", max_length=COMMENT_LENGTH, widget=_text(2, **{"hx-preserve": "true"})
    )


class EditForm(forms.Form):
    """One's own delete in other words. Empty rows are all rows, and only where they were all before."""

    predicate = forms.CharField(
        label="Rows where", required=False, max_length=MAX_LENGTH, widget=_text(3, spellcheck="false")
    )
    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH, widget=_text(2))

    def __init__(self, *given: Any, whole_table: bool = False, **more: Any) -> None:
        super().__init__(*given, **more)
        self.whole_table = whole_table

    def clean_predicate(self) -> str | None:
        """None for the whole table, which an edit doesn't turn a part into."""
        text = str(self.cleaned_data["predicate"])
        if not text and not self.whole_table:
            raise forms.ValidationError("Say which rows. A delete of the whole table is a request of its own.")
        return text or None


class UndoForm(forms.Form):
    """Why, and the later commits that may go as well: versions, or one span of them (`5-1200`)."""

    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH, widget=_text(3))

    def __init__(self, *given: Any, later: Mapping[str, str], **more: Any) -> None:
        super().__init__(*given, **more)
        self.fields["accept"] = forms.MultipleChoiceField(
            label="Commits that are undone as well",
            choices=list(later.items()),
            required=False,
            widget=forms.CheckboxSelectMultiple,
        )

    def accepted(self) -> list[int]:
        """The versions that were ticked."""
        return [version for value in self.cleaned_data["accept"] for version in _versions(value)]


def _versions(value: str) -> range:
    first, _, last = value.partition("-")
    return range(int(first), int(last or first) + 1)


def given(form: forms.Form) -> dict[str, Any]:
    """What a form holds. Raises Problem 400 `invalid`, which names its fields."""
    if form.is_valid():
        return dict(form.cleaned_data)
    fields = {name: " ".join(map(str, errors)) for name, errors in form.errors.items()}
    raise Problem(400, "invalid", f"Nothing was done: {' '.join(fields.values())}", fields=fields)
