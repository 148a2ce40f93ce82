"""Acknowledging a commit that nobody explains, over HTTP."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import person_of
from console.accounts.roles import Permission
from console.audit.actor import Actor
from console.rest import Body, Text, Whole, body_of
from tables import explanations, histories, queries
from tables.serializers import ExplanationOut


class Reason(Body):
    reason = Text(max_length=explanations.REASON_LENGTH)
    incarnation = Whole(
        min_value=0, required=False, help_text="Of the table that lay there before; else the present one."
    )


class Acknowledge(APIView):
    """A person's word on a commit that nobody explains."""

    asks = {"POST": Permission.TABLE_ADD}

    @extend_schema(operation_id="commit_acknowledge", request=Reason, responses=ExplanationOut)
    def post(self, request: Request, table_id: uuid.UUID, version: int) -> Response:
        """Says why it is in order, or what was done about it; it then leaves home. 409 `wrong_state` when it isn't open."""
        table = queries.table_for(person_of(request), table_id)
        body = body_of(request, Reason)
        lay = histories.incarnation_of(table, str(body.get("incarnation", "")))
        found = explanations.acknowledge(Actor.of(request), table, version, body["reason"], lay)
        return Response(explanations.explanation_json(found))
