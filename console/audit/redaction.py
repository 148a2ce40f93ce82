"""Secrets that never enter the audit: declares the fields that hold them, and replaces their values wherever they occur."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.base.text.masking import masked_text

REDACTED = "redacted"
# `app.Model.field`. A field whose name sounds secret stands here or below; a test holds the inventory.
SECRET_FIELDS = frozenset(
    {
        "accounts.Person.password",
        "accounts.FirstLink.secret_sha256",
        "accounts.SignInRequest.code_hmac",
        "accounts.SignInRequest.prefix",
        "accounts.SignInRequest.secret_sha256",
        "accounts.Token.secret_sha256",
        "accounts.Token.prefix",
        "tables.ObjectStore.secret",
        "tables.ObjectStore.session_token",
    }
)
SECRET_KEYS = frozenset(
    {field.rpartition(".")[2] for field in SECRET_FIELDS} | {"secret", "passphrase", "token_text", "session_key"}
)
# They sound secret and hold none: counters of claims, hashes of public texts, keys of idempotency, ids of keys.
HARMLESS_FIELDS = frozenset(
    {
        "accounts.Person.must_change_password",
        "accounts.SignInRequest.token",
        "audit.Event.token_id",
        "audit.Event.hash",
        "audit.Seal.hash",
        "audit.Head.hash",
        "audit.Head.key",
        "audit.Verification.hash",
        "jobs.Job.idempotency_key",
        "jobs.Job.token",
        "jobs.Job.parameters_sha256",
        "jobs.Job.request_sha256",
        "jobs.Attempt.token",
        "jobs.Decision.token",
        "jobs.PolicyRule.refuses_tokens",
        "jobs.Read.question_sha256",
        "jobs.TableLease.token",
        "jobs.Schedule.idempotency_key",
        "jobs.Schedule.request_sha256",
        "jobs.ScheduleDecision.token",
        "jobs.ScheduleRun.parameters_sha256",
        "jobs.Stream.idempotency_key",
        "jobs.Stream.request_sha256",
        "jobs.StreamStart.idempotency_key",
        "jobs.StreamStart.request_sha256",
        "jobs.Stream.definition_sha256",
        "jobs.Stream.approved_sha256",
        "tables.ObjectStore.key_id",
        "tables.Schema.sha256",
    }
)


def redacted(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The values with every secret's replaced, at any depth; credentials in URIs and in JSON texts are masked."""
    return None if values is None else {name: _clean(name, value) for name, value in values.items()}


def _clean(name: str, value: Any) -> Any:
    if name.lower() in SECRET_KEYS:
        return REDACTED
    if isinstance(value, Mapping):
        return redacted(value)
    if isinstance(value, list | tuple):
        return [_clean("", each) for each in value]
    return masked_text(value) if isinstance(value, str) else value
