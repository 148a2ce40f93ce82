"""The policy of a request: the rules that hold now, asked about what its preview found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection

from jobs.domain.policy import Case, Policy, Rule, Scope, TableClass, decide
from jobs.models import Job, PolicyRule


def rules_now(command: str) -> list[Rule]:
    """The rules about a command that are switched on."""
    rows = PolicyRule.objects.filter(command=command, enabled=True, removed_at=None).order_by("name", "id")
    return [as_rule(row) for row in rows]


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
        table_class=TableClass(row.table_class) if row.table_class else None,
        min_share=row.min_share,
        scope=Scope(row.scope),
        scope_id=str(scope_id) if scope_id else None,
        refuses_tokens=row.refuses_tokens,
    )


def case_of(job: Job, preview: Mapping[str, Any]) -> Case:
    """What the policy is asked: the command, its place, and how much of the table it is after."""
    return Case(
        command=job.command,
        root=str(job.table.root_id),
        table=str(job.table_id),
        table_class=TableClass(preview.get("class") or TableClass.ORDINARY),
        share=share_of(preview),
    )


def share_of(preview: Mapping[str, Any]) -> float | None:
    """The share of the table's rows that a preview is about, 0 to 1; None where either number is unknown."""
    rows, total = preview.get("rows_matched"), preview.get("rows_total")
    return None if rows is None or total is None else rows / total if total else 1.0


def policy_of(job: Job, preview: Mapping[str, Any]) -> Policy:
    """What a job needs by today's rules."""
    return decide(rules_now(job.command), case_of(job, preview))


def approvals(job: Job) -> int:
    """The approvals of the job's digest that count now: the database's own count (`jobs_approvals`)."""
    with connection.cursor() as cursor:
        cursor.execute("select jobs_approvals(%s, %s)", [job.pk, job.digest])
        return int(cursor.fetchone()[0])


def required(job: Job) -> int:
    """How many it needs: what its request said, or what today's rules say, whichever is more."""
    stored = int(job.policy.get("required_approvals", 0))
    return max(stored, policy_of(job, job.preview or {}).required_approvals)
