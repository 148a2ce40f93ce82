"""Who asks, over HTTP: what a program shows after a sign-in."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.models import Token
from console.accounts.permissions import Open, person_of
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
