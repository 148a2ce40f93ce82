"""`/api/v1/` itself: the reference for a browser, for a program the addresses to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.accounts.permissions import Open
from console.pages.reference import views


class PageRenderer(BaseRenderer):
    """A page that a browser asks for. A problem stays the JSON that it is."""

    media_type = "text/html"
    format = "page"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """A problem's bytes: the page itself is a response already."""
        return JSONRenderer().render(data)


class IndexSerializer(serializers.Serializer[Any]):
    """Where to begin."""

    name = serializers.CharField()
    version = serializers.CharField()
    documentation_url = serializers.CharField(help_text="This address, for people.")
    schema_url = serializers.CharField(help_text="The OpenAPI document; YAML by `Accept`.")
    me_url = serializers.CharField(help_text="Who you are, and what your token may do.")


class Index(APIView):
    """The beginning of the API."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.PUBLIC}
    renderer_classes: ClassVar[list[type[BaseRenderer]]] = [JSONRenderer, PageRenderer]  # type: ignore[misc]

    @extend_schema(
        operation_id="index",
        tags=["api"],
        responses={(200, "application/json"): IndexSerializer, (200, "text/html"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> Response | HttpResponse:
        """The addresses to begin with; for a browser (`Accept: text/html`), the reference of the API."""
        if isinstance(request.accepted_renderer, PageRenderer):
            return views.index(request._request)
        return Response(
            {
                "name": "Levee",
                "version": "1",
                "documentation_url": request.build_absolute_uri(reverse("api_index")),
                "schema_url": request.build_absolute_uri(reverse("api_schema")),
                "me_url": request.build_absolute_uri(reverse("api_me")),
            }
        )
