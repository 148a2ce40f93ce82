"""Shared parts of the audit's pages: reading it is recorded, and auditors see the state of the chain."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from console.accounts.permissions import person_of
from console.audit import queries
from console.audit.actions import Action, ObjectKind
from console.audit.actor import Actor
from console.audit.export import newest_head
from console.audit.integrity.verification import last_word
from console.audit.models import Seal, Verification
from console.audit.queries import EventFilter
from console.audit.services import record


def record_reading(actor: Actor, wanted: EventFilter) -> None:
    """Records who read what of the audit. Raises Problem 503: Levee shows nothing that it can't record."""
    record(actor, Action.AUDIT_READ, ObjectKind.AUDIT, "", "the audit", after=wanted.given())


def last_verification(request: HttpRequest) -> Verification | None:
    """`last_word`, asked once for a request: its page and its banners say the same."""
    if not hasattr(request, "last_verification"):
        request.last_verification = last_word()  # type: ignore[attr-defined]
    return request.last_verification  # type: ignore[attr-defined,no-any-return]


def chain_context(request: HttpRequest) -> dict[str, Any]:
    """The state of the chain, for auditors of everything."""
    person = person_of(request)
    if not queries.sees_origins(person):
        return {"is_auditor": False}
    return {
        "is_auditor": True,
        "verified": last_verification(request),
        "newest": Seal.objects.order_by("-sequence").values_list("sequence", flat=True).first(),
        "head": newest_head(),
        "refused": queries.refused_lately(person),
    }
