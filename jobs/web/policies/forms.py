"""Forms of the policy rules."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.commands.registry import ROWS, always_reviewed
from jobs.domain.policy import ANY, job_of
from jobs.models import PolicyRule
from jobs.policy.services import NAME_LENGTH, Terms

CLASSES = [
    ("", "any"),
    (PolicyRule.TableClass.WHOLE_TABLE.value, "a whole table"),
    (PolicyRule.TableClass.SHORT_RETENTION.value, "less than 7 days of retention"),
    (PolicyRule.TableClass.IRREVERSIBLE.value, "what can’t be taken back"),
    (PolicyRule.TableClass.ORDINARY.value, "an ordinary change"),
]


def _commands() -> list[tuple[str, str]]:
    return [(kind, kind) for kind in ROWS]


def _forbidden() -> list[tuple[str, str]]:
    return [(ANY, "anything that changes a table"), *((kind, job_of(kind)) for kind in ROWS)]


class NameForm(forms.Form):
    """What can change of a rule that protects: its name."""

    name = forms.CharField(
        max_length=NAME_LENGTH, help_text="What the rule is for. Requests that it applies to show this name."
    )

    def terms(self) -> dict[str, Any]:
        """The entered terms, by their names in `Terms`."""
        return {"name": self.cleaned_data["name"]}


class ProtectForm(NameForm):
    """A new rule that protects a table or root."""

    on = forms.CharField(max_length=4200, label="Where", help_text="root:NAME, table:PATH or everything")
    command = forms.ChoiceField(choices=_forbidden, label="Never", help_text="Not even by a schedule or a stream.")


class TermsForm(NameForm):
    """The terms of a rule that can change."""

    required_approvals = forms.IntegerField(
        min_value=0, max_value=PolicyRule.MOST_APPROVALS, initial=1, label="Approvals needed"
    )
    table_class = forms.ChoiceField(required=False, choices=CLASSES, label="For requests about")
    min_percent = forms.FloatField(
        required=False,
        min_value=0,
        max_value=100,
        label="From this share of the rows, in percent",
        help_text="Empty: any share. An unknown share counts as large enough.",
    )
    refuses_tokens = forms.BooleanField(required=False, label="A token’s approval doesn’t count")

    def terms(self) -> dict[str, Any]:
        """The entered terms, by their names in `Terms`."""
        given = dict(self.cleaned_data)
        percent = given.pop("min_percent")
        return {name: given[name] for name in ("name", "required_approvals", "table_class", "refuses_tokens")} | {
            "min_share": None if percent is None else percent / 100
        }


class NewRuleForm(TermsForm):
    """A new rule: also its command and its scope."""

    command = forms.ChoiceField(choices=_commands, initial=lambda: min(always_reviewed()))
    on = forms.CharField(
        initial="everything", max_length=4200, label="Where", help_text="everything, root:NAME or table:PATH"
    )
    field_order = ["name", "command", "on", "required_approvals", "table_class", "min_percent", "refuses_tokens"]


def form_of(terms: Terms) -> TermsForm:
    """The form with a rule's current terms."""
    percent = None if terms.min_share is None else round(terms.min_share * 100, 6)
    return TermsForm(
        initial={
            "name": terms.name,
            "required_approvals": terms.required_approvals,
            "table_class": terms.table_class,
            "min_percent": percent,
            "refuses_tokens": terms.refuses_tokens,
        }
    )
