"""One's own request for a delete in other words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from jobs.models import Job
from jobs.predicates.reading import MAX_LENGTH
from jobs.requests.asking import REASON_LENGTH
from jobs.web.approvals.forms import text_area


class DeleteEditForm(forms.Form):
    """One's own delete in other words. Empty rows are all rows, and only where they were all before."""

    predicate = forms.CharField(
        label="Rows where", required=False, max_length=MAX_LENGTH, widget=text_area(3, spellcheck="false")
    )
    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH, widget=text_area(2))

    def __init__(self, *given: Any, whole_table: bool = False, **more: Any) -> None:
        super().__init__(*given, **more)
        self.whole_table = whole_table

    def clean_predicate(self) -> str | None:
        """None for the whole table, which an edit doesn't turn a part into."""
        text = str(self.cleaned_data["predicate"])
        if not text and not self.whole_table:
            raise forms.ValidationError("Enter a condition. Deleting every row is a separate request.")
        return text or None


def edit_form(typed: Mapping[str, Any] | None, job: Job) -> DeleteEditForm:
    """The form with what was typed, else with the request as it is."""
    predicate = job.parameters.get("predicate")
    return DeleteEditForm(
        typed,
        auto_id="edit-%s",
        whole_table=predicate is None,
        initial={"predicate": predicate, "reason": job.reason},
    )
