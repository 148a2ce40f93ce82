"""The policy of a request: the rules that apply now, evaluated over its preview."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from jobs.domain.policy import Case, Policy, Rule, Scope, TableClass, decide
from jobs.models import Job, PolicyChange, PolicyRule
from jobs.policy.read_tables import approvers_of_both, read_table

LOWERED_FOR = timedelta(days=7)


def rules_now(command: str) -> list[Rule]:
    """The rules about approvals of a command that are switched on; `protection` has those that forbid it."""
    return rules_by_command([command]).get(command, [])


def rules_by_command(commands: Iterable[str]) -> dict[str, list[Rule]]:
    """The same for several commands, by command; one query."""
    rows = PolicyRule.objects.filter(forbids=False, command__in=list(commands), enabled=True, removed_at=None).order_by(
        "name", "id"
    )
    rules: dict[str, list[Rule]] = defaultdict(list)
    for row in rows:
        rules[row.command].append(as_rule(row))
    return rules


def rules_for(command: str, requester: uuid.UUID) -> list[Rule]:
    """The same for one person's request: a rule that they or a person of their line lowered lately applies as it was."""
    return [*rules_now(command), *_before(command, requester)]


def _before(command: str, requester: uuid.UUID) -> list[Rule]:
    lately = PolicyChange.objects.filter(rule__forbids=False, rule__command=command, applied_at__gt=Now() - LOWERED_FOR)
    own = [c for c in lately.select_related("rule").order_by("applied_at") if _stands_behind(requester, c)]
    return [_as_it_was(change) for change in own]


def _stands_behind(requester: uuid.UUID, change: PolicyChange) -> bool:
    people = [person for person in (change.asked_by_id, change.confirmed_by_id) if person is not None]
    with connection.cursor() as cursor:
        cursor.execute(
            "select not bool_and(accounts_independent(%s, p)) from unnest(%s::uuid[]) p", [requester, people]
        )
        return bool(cursor.fetchone()[0])


def _as_it_was(change: PolicyChange) -> Rule:
    until = (change.applied_at or timezone.now()) + LOWERED_FOR
    name = f"{change.before['name']} (lowered since; for who did it, it holds until {until:%Y-%m-%d %H:%M} UTC)"
    was = with_terms(change.rule, change.before)
    return replace(was, version=change.rule_version, name=name)


def with_terms(row: PolicyRule, terms: Mapping[str, Any]) -> Rule:
    """The stored rule as a value, with these terms instead of its own."""
    known = {name: terms[name] for name in ("name", "required_approvals", "min_share", "refuses_tokens")}
    return replace(as_rule(row), **known, table_class=_class(terms["table_class"]))


def _class(text: str) -> TableClass | None:
    return TableClass(text) if text else None


def as_rule(row: PolicyRule) -> Rule:
    """The stored rule as a value."""
    scope_id = row.root_id or row.table_id
    return Rule(
        id=str(row.pk),
        version=row.version,
        name=row.name,
        command=row.command,
        required_approvals=row.required_approvals,
        role=row.role,
        table_class=_class(row.table_class),
        min_share=row.min_share,
        scope=Scope(row.scope),
        scope_id=str(scope_id) if scope_id else None,
        refuses_tokens=row.refuses_tokens,
        forbids=row.forbids,
    )


def case_of(job: Job, preview: Mapping[str, Any]) -> Case:
    """The input of the policy: the command, its table, and how much of the table it affects."""
    return Case(
        command=job.command,
        root=str(job.table.root_id),
        table=str(job.table_id),
        table_class=TableClass(preview.get("class") or TableClass.ORDINARY),
        share=share_of(preview),
        reads=reads_of(preview),
    )


def reads_of(preview: Mapping[str, Any]) -> frozenset[str]:
    """The ids of the table that a preview takes rows from beside the job's own, and of its root; empty for most commands."""
    return frozenset((preview.get("reads") or {}).values())


def share_of(preview: Mapping[str, Any]) -> float | None:
    """The share of the table's rows that a preview affects, 0 to 1; None if either number is unknown."""
    rows, total = preview.get("rows_matched"), preview.get("rows_total")
    return None if rows is None or total is None else rows / total if total else 1.0


def policy_of(job: Job, preview: Mapping[str, Any]) -> Policy:
    """The policy of a job under the current rules."""
    return decide(rules_for(job.command, job.requested_by_id), case_of(job, preview))


def approvals(job: Job) -> int:
    """The approvals of the job's digest that count now: the database's own count (`jobs_approvals`), and of a job that takes rows from
    another table those that count there too."""
    with connection.cursor() as cursor:
        cursor.execute("select jobs_approvals(%s, %s)", [job.pk, job.digest])
        counted = int(cursor.fetchone()[0])
    other = read_table(job.preview)
    return counted if other is None or not counted else min(counted, len(approvers_of_both(job, other)))


def required(job: Job) -> int:
    """The approvals that the job needs: as stored with its request, or by the current rules, whichever is more."""
    stored = int(job.policy.get("required_approvals", 0))
    return max(stored, policy_of(job, job.preview or {}).required_approvals)
