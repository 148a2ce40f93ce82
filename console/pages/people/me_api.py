"""Who asks, over HTTP: what a program shows after a sign-in."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts import services
from console.accounts.models import Token
from console.accounts.permissions import Open, person_of
from console.audit.actor import Actor
from console.base.errors import Problem
from console.pages.people.serializers import HeldGrantSerializer, TokenSerializer


class MeSerializer(serializers.Serializer[Any]):
    """You, your roles, and the token of this request; null in a browser's session."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    grants = HeldGrantSerializer(many=True)
    token = TokenSerializer(allow_null=True)


class Me(APIView):
    """The person who asks."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.SIGNED_IN}

    @extend_schema(operation_id="me", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Your name, your roles, and what the token of this request may do."""
        person = person_of(request)
        grants = person.grants.select_related("root", "table").order_by("role", "id")
        token = request.auth if isinstance(request.auth, Token) else None
        return Response(MeSerializer({"id": person.pk, "name": person.name, "grants": grants, "token": token}).data)


class OwnToken(APIView):
    """The token of this request."""

    requires: ClassVar[dict[str, Open]] = {"DELETE": Open.ANY_TOKEN}

    @extend_schema(operation_id="me_token_revoke", responses={204: None})
    def delete(self, request: Request) -> Response:
        """Revokes it at once, whatever its scopes: how a program signs itself out. In a browser's session 409 `wrong_state`."""
        if not isinstance(request.auth, Token):
            raise Problem(409, "wrong_state", "This request has no token: a session ends on the page /sign-out/.")
        services.revoke_token(Actor.of(request), request.auth)
        return Response(status=204)
