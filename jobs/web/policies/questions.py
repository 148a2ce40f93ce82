"""What a person answers before a rule is removed, or a change of one declined."""

from __future__ import annotations

from django.urls import reverse

from console.base.questions import Question
from console.base.text.counted import counted
from jobs.domain.policy import forbidding, sentence
from jobs.models import PolicyChange, PolicyRule
from jobs.policy.evaluate import as_rule
from jobs.policy.holding_back import HeldBack

_ASKING = [
    ("Open requests", "those that it has applied to keep what it asked of them"),
    ("Second admin", "has to confirm it, if the removal lowers the approvals that something needs"),
]
_PROTECTING = [
    ("What it holds back", "can be requested again; for 7 days not by the people who lift it"),
    ("Second admin", "has to confirm it"),
]


def of_rule(rule: PolicyRule) -> Question:
    """Before a rule is removed. A removal that lowers the policy waits for a second admin."""
    follows = [
        ("Rule", sentence(as_rule(rule))),
        *(_PROTECTING if rule.forbids else _ASKING),
        ("Way back", "none: a removed rule can only be added anew"),
    ]
    return _question(f"Remove the rule {rule.name}", "Remove the rule", follows)


def of_protection(name: str, on: str, command: str, held: HeldBack) -> Question:
    """Before a rule protects tables: what waits is cancelled, what repeats stops, and one person can't take it back."""
    follows = [
        ("Where", on),
        ("From now on", forbidding(command)),
        (
            "Waiting requests",
            f"{counted(held.requests, 'request is', 'requests are')} cancelled; jobs that have begun come to their end",
        ),
        (
            "Schedules",
            f"{counted(held.schedules, 'active schedule stops', 'active schedules stop')}; those for many tables leave these out",
        ),
        ("Streams", f"{counted(held.streams, 'stream stops', 'streams stop')} at the next round"),
        (
            "Way back",
            "two admins, neither of whom depends on the other, lift it; then whoever lifted it changes nothing here for 7 days",
        ),
    ]
    return _question(f"Protect {on} by the rule {name}", "Protect", follows)


def of_confirmation(rule: PolicyRule, change: PolicyChange, wish: str) -> Question:
    """Before the second admin confirms a change that lowers a rule: it applies at once."""
    asker = change.asked_by.name if change.asked_by else "the command line"
    follows = [
        ("Rule", f"now: {sentence(as_rule(rule))}"),
        ("Change", f"{asker} asks: {wish}"),
        ("Takes effect", "at once; requests that are open keep the approvals that they were asked for"),
    ]
    return _question(f"Confirm the change of {rule.name}", "Confirm", follows, change)


def of_change(rule: PolicyRule, change: PolicyChange, *, is_own: bool) -> Question:
    """Before a change that waits is declined, or taken back by who asked for it."""
    asker = change.asked_by.name if change.asked_by else "the command line"
    follows = [
        ("Rule", f"stays as it is: {sentence(as_rule(rule))}"),
        (
            "Change",
            "has to be asked for again, and confirmed again"
            if is_own
            else f"of {asker} is dropped; {asker} can ask again",
        ),
    ]
    if is_own:
        return _question(f"Take back your change of {rule.name}", "Take back", follows, change)
    return _question(f"Decline the change of {rule.name}", "Decline", follows, change)


def _question(act: str, button: str, follows: list[tuple[str, str]], change: PolicyChange | None = None) -> Question:
    return Question(
        act=act,
        button=button,
        follows=follows,
        back=reverse("policies:list"),
        back_text="Policies",
        takes_password=True,
        fields={"change": str(change.pk)} if change else {},
    )
