"""Notices for admins and auditors, over HTTP."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts import notices
from console.accounts.permissions import person_of
from console.audit.actor import Actor
from console.base.pagination import OrderKey, page
from console.base.rest import ListQuery, cursor_asked, limit_asked, listed

NEWEST = (OrderKey("at", descending=True), OrderKey("id"))


class NoticeSerializer(serializers.Serializer[Any]):
    """One act; `event` is its id in the audit, `by` null for a command on the machine."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    event = serializers.UUIDField()
    text = serializers.CharField()
    by = serializers.CharField(source="by.name", allow_null=True, default=None)
    about = serializers.CharField(source="about.name", allow_null=True, default=None)


class Notices(APIView):
    """Changes of roles and rules that none of the others has acknowledged yet."""

    requires: ClassVar[dict[str, Any]] = {"GET": notices.SHOWN_TO}

    @extend_schema(operation_id="notices_list", parameters=[ListQuery], responses=NoticeSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Newest first."""
        notice_page = page(notices.open_for(person_of(request)), NEWEST, limit_asked(request), cursor_asked(request))
        return listed(request, notice_page, NoticeSerializer(notice_page.rows, many=True).data)


class NoticeAcknowledge(APIView):
    """Acknowledges a notice as one of the others."""

    requires: ClassVar[dict[str, Any]] = {"POST": notices.SHOWN_TO}

    @extend_schema(operation_id="notices_acknowledge", request=None, responses={204: None})
    def post(self, request: Request, notice_id: uuid.UUID) -> Response:
        """403 `not_independent` if you did it, it is about you, or the same person appointed you. A token needs `admin`."""
        notices.acknowledge(Actor.of(request), notice_id)
        return Response(status=204)
