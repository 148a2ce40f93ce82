"""Acknowledging an unapproved commit over HTTP."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.base.rest import Body, LiteralText, Whole, body_of
from tables.catalog import attributions, listing
from tables.history import queries as histories
from tables.web.api.serializers import ExplanationOut


class Reason(Body):
    reason = LiteralText(max_length=attributions.REASON_LENGTH)
    incarnation = Whole(
        min_value=0,
        required=False,
        help_text="Number of an earlier table at this location; the present one unless given.",
    )


class Acknowledge(APIView):
    """Acknowledges an unapproved commit."""

    requires = {"POST": Permission.TABLE_ADD}

    @extend_schema(operation_id="commit_acknowledge", request=Reason, responses=ExplanationOut)
    def post(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        """Records why it is in order, or what you did about it; it then leaves the home page. 409 `wrong_state` if it isn't open."""
        table = listing.table_for(person_of(request), table_id)
        body = body_of(request, Reason)
        incarnation = histories.incarnation_of(table, str(body.get("incarnation", "")))
        explanation = attributions.acknowledge(Actor.of(request), table, version, body["reason"], incarnation)
        return Response(attributions.explanation_json(explanation))
