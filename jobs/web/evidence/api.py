"""Verifying the audit over HTTP; what tables and jobs say is part of it."""

from __future__ import annotations

from typing import ClassVar

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.audit.export import newest_head
from console.audit.integrity import verification
from console.audit.models import Seal, Verification
from console.audit.serializers import VerificationOut, VerifyQuery
from console.base.errors import Problem
from console.base.rest import query_of
from jobs.evidence.audit_loops import record_verification
from jobs.evidence.consistency import differences

AT_ONCE = (
    300_000  # links that are verified while somebody waits; of a longer chain the newest ones, the rest every night
)


class AuditVerify(APIView):
    """The audit, verified now."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.AUDIT_READ}

    @extend_schema(operation_id="audit_verify", parameters=[VerifyQuery], responses=VerificationOut)
    def get(self, request: Request) -> Response:
        """The chain, its exported heads, and whether tables and jobs agree. Without `since`, the newest 300,000 events at least."""
        run = verify_now(Actor.of(request), query_of(request, VerifyQuery).get("since"))
        return Response(VerificationOut(verification.as_json(run) | {"head": newest_head()}).data)


def verify_now(actor: Actor, since: int | None = None) -> Verification:
    """A verification while somebody waits for it, on record as theirs. Raises Problem 403 for an auditor of a part."""
    person = actor.person
    if person is None or not person.scopes(Permission.AUDIT_READ).everything:
        raise Problem(403, "forbidden", "Only an auditor of everything can verify the chain: it holds every event.")
    if since is None:
        newest = Seal.objects.order_by("-sequence").values_list("sequence", flat=True).first() or 0
        since = max(0, newest - AT_ONCE)
    run = verification.verify(actor.name, since, more=differences)
    with transaction.atomic():
        record_verification(actor, run)
    return run
