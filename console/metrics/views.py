"""`GET /metrics`: for a scraper with the instance's own token, or an auditor of everything."""

from __future__ import annotations

import hmac
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.utils.cache import add_never_cache_headers
from drf_spectacular.utils import extend_schema
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from console.accounts.authentication import TokenAuthentication
from console.accounts.permissions import Declared, person_of
from console.accounts.roles import Permission
from console.metrics.figures import FiguresCollector
from console.metrics.requests import REGISTRY
from console.metrics.slots import shared_directory

SCRAPER = "scraper"


class ScraperAuthentication(BaseAuthentication):
    """`Authorization: Bearer LEVEE_METRICS_TOKEN`. It asks no database, so a scrape tells that there is none."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, str] | None:
        token = settings.ENV.metrics_token
        kind, _, text = request.headers.get("Authorization", "").partition(" ")
        if token is None or kind.lower() != "bearer":
            return None
        same = hmac.compare_digest(text.strip().encode("utf-8", "replace"), token.encode())
        return (AnonymousUser(), SCRAPER) if same else None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayScrape(Declared):
    """The scraper; or a person who holds the permission on everything, since the figures are of all tables."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.auth == SCRAPER:
            return True
        if not super().has_permission(request, view):
            return False
        if request.method == "GET" and not person_of(request).scopes(Permission.AUDIT_READ).everything:
            raise PermissionDenied("The figures are of all tables: this needs audit.read on everything.")
        return True


@extend_schema(exclude=True)  # it isn't of /api/
class Metrics(APIView):
    """The figures in Prometheus's text format."""

    requires: ClassVar[dict[str, Permission]] = {"GET": Permission.AUDIT_READ}
    authentication_classes = [ScraperAuthentication, TokenAuthentication, SessionAuthentication]
    permission_classes = [MayScrape]
    http_method_names = ["get"]

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[JSONRenderer, str]:
        """There is one format, whatever is accepted; a refusal is a problem."""
        return JSONRenderer(), JSONRenderer.media_type

    def get(self, request: Request, *_: Any) -> HttpResponse:
        response = HttpResponse(exposition(), content_type=CONTENT_TYPE_PLAIN_0_0_4)
        add_never_cache_headers(response)
        return response


def exposition() -> bytes:
    """Requests of all web processes of this machine, and the figures of the database and Redis."""
    registry = CollectorRegistry()
    directory = shared_directory()
    if directory is None:
        registry.register(REGISTRY)
    else:
        MultiProcessCollector(registry, directory)  # type: ignore[no-untyped-call]
    registry.register(FiguresCollector())
    return generate_latest(registry)
