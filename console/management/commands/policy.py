"""`manage.py policy …`: the rules of policy from the host's command line, where a change needs no second admin."""

from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q

from console.audit.actor import Actor
from console.management.troubles import in_one_line
from jobs.domain.policy import sentence
from jobs.models import PolicyRule
from jobs.policy import changes as policy_changes
from jobs.policy import services
from jobs.policy.evaluate import as_rule

ACTOR = Actor.system("command line")


class Command(BaseCommand):
    help = "Lists the policy rules, confirms a waiting change, changes or removes a rule."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="Lists every rule with its id, and the changes that wait for a second admin.")
        for name, text in (
            ("confirm", "Confirms the waiting change, which takes effect at once."),
            ("change", "Changes a rule."),
            ("remove", "Removes a rule."),
        ):
            acts.add_parser(name, help=text).add_argument("rule", metavar="RULE", help="its id, or its whole name")
        change = acts.choices["change"]
        change.add_argument("--approvals", type=int, metavar="N", help="how many approvals it requires")
        switch = change.add_mutually_exclusive_group()
        switch.add_argument("--on", action="store_true", dest="enabled", default=None, help="switches it on")
        switch.add_argument("--off", action="store_false", dest="enabled", default=None, help="switches it off")

    def handle(self, *_: Any, **options: Any) -> None:
        with in_one_line():
            if options["act"] == "list":
                self._list()
            else:
                rule = _rule(options["rule"])
                self.stdout.write(f"{rule.name}: {ACTS[options['act']](rule, options)}")

    def _list(self) -> None:
        waiting = {change.rule_id: change for change in policy_changes.waiting()}
        for rule in PolicyRule.objects.filter(removed_at=None):
            state = "on" if rule.enabled else "off"
            self.stdout.write(f"{rule.pk}  {state}  {rule.name}: {sentence(as_rule(rule))}")
            if (change := waiting.get(rule.pk)) is not None:
                asker = change.asked_by.name if change.asked_by else "the machine"
                self.stdout.write(f"  waiting, requested by {asker}: {policy_changes.command(change)}")


def _rule(text: str) -> PolicyRule:
    try:
        known = Q(pk=uuid.UUID(text))
    except ValueError:
        known = Q(name=text)
    rules = list(PolicyRule.objects.filter(known, removed_at=None)[:2])
    if len(rules) != 1:
        how_many = "no rule" if not rules else "more than one rule"
        raise CommandError(f"{how_many} is {text}; manage.py policy list names them with their ids")
    return rules[0]


def _confirm(rule: PolicyRule, options: dict[str, Any]) -> str:
    change = policy_changes.waiting_of(rule)
    if change is None:
        raise CommandError(f"no change of {rule.name} waits; nothing was changed")
    services.confirm(ACTOR, rule, change.pk)
    return "the change is confirmed and in effect"


def _change(rule: PolicyRule, options: dict[str, Any]) -> str:
    given = {"required_approvals": options["approvals"], "enabled": options["enabled"]}
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise CommandError("name a change: --approvals N, --on or --off")
    services.change(ACTOR, rule, **changes)
    return "changed"


def _remove(rule: PolicyRule, options: dict[str, Any]) -> str:
    services.remove(ACTOR, rule)
    return "removed"


ACTS = {"confirm": _confirm, "change": _change, "remove": _remove}
