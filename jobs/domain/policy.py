"""How many approvals a command needs, from which role, and why: rules are data, and the strictest that applies counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from console.base.text.counted import counted

APPROVER = "approver"
ANY = "any"  # as the command of a rule that forbids: whatever changes a table


class TableClass(StrEnum):
    """How much of a table a command affects, or for how long: all of its rows, less than a week of retention, something that
    nobody can take back, or none of these."""

    WHOLE_TABLE = "whole_table"
    SHORT_RETENTION = "short_retention"
    IRREVERSIBLE = "irreversible"
    ORDINARY = "ordinary"


class Scope(StrEnum):
    EVERYTHING = "everything"
    ROOT = "root"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `table_class` None: any; `min_share` (0 to 1, None: any) is the least share of the table's rows it is about.

    `version` grows with each change of the rule; a request says which one applied. `scope_id` is the root's or the table's id. One that
    `forbids` asks for no approvals: the command, or ANY, never runs there.
    """

    id: str
    version: int
    name: str
    command: str
    required_approvals: int
    role: str = APPROVER
    table_class: TableClass | None = None
    min_share: float | None = None
    scope: Scope = Scope.EVERYTHING
    scope_id: str | None = None
    refuses_tokens: bool = False
    forbids: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a policy. `share` of the table's rows is None if it can't be known.

    `reads` are the ids of another table that the command takes its rows from, and of that one's root: rules for them apply as well.
    """

    command: str
    root: str
    table: str
    table_class: TableClass = TableClass.ORDINARY
    share: float | None = None
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Policy:
    """`required_approvals` people with `role` must approve; `reasons` names the rules that require it.

    `rules` are the rules that applied, as `{id, version}`; with `refuses_tokens` a decision by token doesn't count.
    """

    required_approvals: int
    role: str
    reasons: tuple[str, ...]
    rules: tuple[Mapping[str, Any], ...] = ()
    refuses_tokens: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "required_approvals": self.required_approvals,
            "role": self.role,
            "reasons": list(self.reasons),
            "rules": [dict(rule) for rule in self.rules],
            "refuses_tokens": self.refuses_tokens,
        }


def applies(rule: Rule, case: Case) -> bool:
    """Whether the rule applies to the case. An unknown share counts as large enough."""
    if rule.command != case.command or rule.table_class not in (None, case.table_class):
        return False
    own = {"root": case.root, "table": case.table}
    if rule.scope is not Scope.EVERYTHING and rule.scope_id not in {own[rule.scope], *case.reads}:
        return False
    return rule.min_share is None or case.share is None or case.share >= rule.min_share


def decide(rules: Iterable[Rule], case: Case) -> Policy:
    """The policy for a case: the largest number that any applicable rule requires; one that refuses tokens does so for all."""
    applicable = sorted((rule for rule in rules if applies(rule, case)), key=lambda rule: -rule.required_approvals)
    if not applicable:
        return Policy(0, APPROVER, (f"No rule asks for an approval of this {job_of(case.command)}.",))
    return Policy(
        applicable[0].required_approvals,
        applicable[0].role,
        tuple(map(reason, applicable)),
        tuple({"id": rule.id, "version": rule.version} for rule in applicable),
        any(rule.refuses_tokens for rule in applicable),
    )


def reason(rule: Rule) -> str:
    """The rule by its name and in a sentence."""
    return f"“{rule.name}”: {sentence(rule)}"


def job_of(command: str) -> str:
    """A job of the command as a sentence says it: `stream round job`."""
    return f"{command.replace('_', ' ')} job"


def forbidding(command: str) -> str:
    """What a rule forbids, as a sentence: `Levee runs no vacuum job here.`"""
    return "Levee changes nothing here." if command == ANY else f"Levee runs no {job_of(command)} here."


def lowers(before: Rule | None, after: Rule | None) -> bool:
    """Whether a rule would require less in some case than before; None is a rule that is off or removed."""
    if before is None or not (before.required_approvals or before.refuses_tokens or before.forbids):
        return False
    if after is None or after.required_approvals < before.required_approvals:
        return True
    narrower = after.table_class not in (None, before.table_class) or (after.min_share or 0) > (before.min_share or 0)
    return narrower or (before.refuses_tokens and not after.refuses_tokens)


def sentence(rule: Rule) -> str:
    """The rule as a sentence."""
    if rule.forbids:
        return forbidding(rule.command)
    count, job = rule.required_approvals, job_of(rule.command)
    who = counted(count, rule.role) if count else "no approval"
    article = "an" if job[0] in "aeiou" else "a"
    about = {
        None: f"{article} {job}",
        TableClass.WHOLE_TABLE: f"{article} {job} on a whole table",
        TableClass.SHORT_RETENTION: f"{article} {job} that keeps less than 7 days",
        TableClass.IRREVERSIBLE: f"{article} {job} that can’t be taken back",
        TableClass.ORDINARY: f"an ordinary {job}",
    }[rule.table_class]
    share = f" (from {100 * rule.min_share:.4g}% of the rows on)" if rule.min_share is not None else ""
    tokens = "; a token’s approval doesn’t count" if rule.refuses_tokens else ""
    return f"{about}{share} needs {who}{tokens}."
