"""Roles and permissions: one enum each, and one table of what each role may do (the contract's words: docs/permissions.md)."""

from __future__ import annotations

from django.db import models


class Role(models.TextChoices):
    VIEWER = "viewer"
    OPERATOR = "operator"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


class Permission(models.TextChoices):
    """`thing.act`: what a view, a route or a service requires."""

    TABLE_READ = "table.read"
    TABLE_ROWS = "table.rows"
    TABLE_ADD = "table.add"  # add, scan, sync, describe
    JOB_REQUEST = "job.request"  # request, edit, withdraw and cancel own, ask for undo
    JOB_DECIDE = "job.decide"
    JOB_CANCEL_ANY = "job.cancel_any"
    AUDIT_READ = "audit.read"
    PEOPLE_MANAGE = "people.manage"
    ROOT_MANAGE = "root.manage"
    POLICY_MANAGE = "policy.manage"
    TAG_MANAGE = "tag.manage"  # tags, hiding tables
    WORKER_MANAGE = "worker.manage"


_READS = frozenset({Permission.TABLE_READ, Permission.TABLE_ROWS})

MAY: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _READS,
    Role.OPERATOR: _READS | {Permission.TABLE_ADD, Permission.JOB_REQUEST},
    Role.APPROVER: _READS | {Permission.JOB_DECIDE},
    Role.AUDITOR: _READS | {Permission.AUDIT_READ},
    Role.ADMIN: frozenset(
        {
            Permission.TABLE_READ,
            Permission.JOB_CANCEL_ANY,
            Permission.PEOPLE_MANAGE,
            Permission.ROOT_MANAGE,
            Permission.POLICY_MANAGE,
            Permission.TAG_MANAGE,
            Permission.WORKER_MANAGE,
        }
    ),
}


# Who may do what: changes to these need a recently entered password.
GUARDED = frozenset({Permission.PEOPLE_MANAGE, Permission.ROOT_MANAGE, Permission.POLICY_MANAGE})


class TokenScope(models.TextChoices):
    READ = "read"
    REQUEST = "request"
    APPROVE = "approve"
    ADMIN = "admin"


SCOPE_MEANS: dict[TokenScope, str] = {
    TokenScope.READ: "reads what you may see: tables, rows, jobs, streams, the audit log",
    TokenScope.REQUEST: "adds and syncs tables; requests, edits and cancels your own changes; runs streams and schedules",
    TokenScope.APPROVE: "approves and rejects other people’s requests",
    TokenScope.ADMIN: "administers: people, roles, roots, policies, tags, workers, tokens; cancels any job",
}

NEEDS_SCOPE: dict[Permission, TokenScope] = {
    Permission.TABLE_READ: TokenScope.READ,
    Permission.TABLE_ROWS: TokenScope.READ,
    Permission.AUDIT_READ: TokenScope.READ,
    Permission.TABLE_ADD: TokenScope.REQUEST,
    Permission.JOB_REQUEST: TokenScope.REQUEST,
    Permission.JOB_DECIDE: TokenScope.APPROVE,
    Permission.JOB_CANCEL_ANY: TokenScope.ADMIN,
    Permission.PEOPLE_MANAGE: TokenScope.ADMIN,
    Permission.ROOT_MANAGE: TokenScope.ADMIN,
    Permission.POLICY_MANAGE: TokenScope.ADMIN,
    Permission.TAG_MANAGE: TokenScope.ADMIN,
    Permission.WORKER_MANAGE: TokenScope.ADMIN,
}
