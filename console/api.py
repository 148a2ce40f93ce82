"""The URL tree of `/api/v1/`."""

from __future__ import annotations

from typing import ClassVar

from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView

from console.accounts.permissions import Open
from console.base.openapi import KeptDocument
from console.pages.reference.api import Index


class OpenApiDocument(SpectacularAPIView):
    """The OpenAPI document, in JSON, or in YAML when that is accepted first."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.PUBLIC}
    generator_class = KeptDocument
    renderer_classes = [OpenApiJsonRenderer, OpenApiYamlRenderer]


urlpatterns: list[URLPattern | URLResolver] = [
    path("", Index.as_view(), name="api_index"),
    path("", include("jobs.web.api_urls")),
    path("", include("jobs.web.policies.api_urls")),
    path("", include("tables.web.api.urls")),
    path("", include("console.pages.people.api_urls")),
    path("", include("console.pages.audit.api_urls")),
    path("schema/", OpenApiDocument.as_view(), name="api_schema"),
]
