"""Programs that ask to be signed in, over HTTP: the side of the program. The person's side is a page."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.models import SignInRequest, SignInState
from console.accounts.permissions import Open
from console.accounts.roles import TokenScope
from console.accounts.sign_in import program_sign_ins
from console.base.logs import request_address
from console.base.rest import Body, LiteralText, body_of

INTERVAL_S = 2
STATES = [state.value for state in SignInState]


class NewSignIn(Body):
    machine = LiteralText(
        max_length=100, help_text="Where the program runs; the person reads it, and the token is named after it."
    )
    scopes = serializers.ListField(
        child=serializers.ChoiceField(TokenScope.values), required=False, help_text="read and request by default"
    )


class SignInSerializer(serializers.Serializer[Any]):
    """What became of a sign-in."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(STATES)
    expires_at = serializers.DateTimeField()


class BegunSignInSerializer(SignInSerializer):
    """A sign-in that waits for a person's word. `token` works once it is granted, and is answered only now."""

    code = serializers.CharField(help_text="What the person enters.")
    confirm_url = serializers.CharField(help_text="Where they enter it.")
    token = serializers.CharField()
    interval_seconds = serializers.IntegerField(help_text="Ask for the state this often.")


class SignIns(APIView):
    """Programs that ask to be signed in by somebody's word in a browser."""

    requires: ClassVar[dict[str, Open]] = {"POST": Open.PUBLIC}
    authentication_classes: ClassVar[list[type[BaseAuthentication]]] = []  # type: ignore[misc]  # who asks has no token yet

    @extend_schema(operation_id="sign_ins_begin", request=NewSignIn, responses={201: BegunSignInSerializer})
    def post(self, request: Request) -> Response:
        """Show `code` and `confirm_url` to the person, and ask for the state until they have decided.

        The token begins to work when a signed-in person confirms the code; it is theirs, and lives 90 days. 429 for too many
        from one network.
        """
        given = body_of(request, NewSignIn)
        scopes = {TokenScope(scope) for scope in given.get("scopes") or ("read", "request")}
        asked, code, token = program_sign_ins.begin(given["machine"], scopes, request_address.get())
        return Response(
            {
                **SignInSerializer(asked).data,
                "code": code,
                "confirm_url": request.build_absolute_uri(reverse("accounts:sign_in_program")),
                "token": token,
                "interval_seconds": INTERVAL_S,
            },
            status=201,
        )


class SignInDetail(APIView):
    """One of them, by the id that only its program was told."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.PUBLIC}
    authentication_classes: ClassVar[list[type[BaseAuthentication]]] = []  # type: ignore[misc]

    @extend_schema(operation_id="sign_ins_get", responses=SignInSerializer)
    def get(self, request: Request, sign_in_id: uuid.UUID) -> Response:
        """`waiting`, then `granted`, `denied` or `expired`; a day later 404."""
        return Response(SignInSerializer(get_object_or_404(SignInRequest, pk=sign_in_id)).data)
