"""Forms of the rules of policy."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.domain.commands import COMMANDS
from jobs.models import PolicyRule
from jobs.policy_services import NAME_LENGTH, Terms

CLASSES = [
    ("", "any"),
    (PolicyRule.TableClass.WHOLE_TABLE.value, "a whole table"),
    (PolicyRule.TableClass.ORDINARY.value, "a part of a table"),
]


def _commands() -> list[tuple[str, str]]:
    return [(kind, kind) for kind in COMMANDS]


class TermsForm(forms.Form):
    """What may change of a rule."""

    name = forms.CharField(
        max_length=NAME_LENGTH, help_text="What the rule is for. A request that it applies to says it."
    )
    required_approvals = forms.IntegerField(
        min_value=0, max_value=PolicyRule.MOST_APPROVALS, initial=1, label="Approvals needed"
    )
    table_class = forms.ChoiceField(required=False, choices=CLASSES, label="For requests about")
    min_percent = forms.FloatField(
        required=False,
        min_value=0,
        max_value=100,
        label="From this share of the rows, in percent",
        help_text="Empty: any share. A share that isn’t known counts as large enough.",
    )
    refuses_tokens = forms.BooleanField(required=False, label="A token’s approval doesn’t count")

    def terms(self) -> dict[str, Any]:
        """The terms that were given, by their names in `Terms`."""
        given = dict(self.cleaned_data)
        percent = given.pop("min_percent")
        return {name: given[name] for name in ("name", "required_approvals", "table_class", "refuses_tokens")} | {
            "min_share": None if percent is None else percent / 100
        }


class NewRuleForm(TermsForm):
    """A rule to be added: also the command that it is about, and where it holds."""

    command = forms.ChoiceField(choices=_commands, initial="delete")
    on = forms.CharField(
        initial="everything", max_length=4200, label="Where", help_text="everything, root:NAME or table:PATH"
    )
    field_order = ["name", "command", "on", "required_approvals", "table_class", "min_percent", "refuses_tokens"]


def form_of(terms: Terms) -> TermsForm:
    """The form with a rule's terms as they are."""
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
