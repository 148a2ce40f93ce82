"""Counts and times requests, by method, route and class of status: labels of which there are only so many."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from console.base.logs import UNTIMED

METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
LABELS = ("method", "route", "status")
NO_ROUTE = "none"  # a static file, an address that there isn't, a request refused before its address was looked up

disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
COUNT = Counter("levee_requests", "Requests answered.", LABELS, registry=REGISTRY)
SECONDS = Histogram(
    "levee_request_seconds", "Seconds to an answer.", LABELS, registry=REGISTRY, buckets=(0.1, 0.5, 2, 10)
)


class RequestsCounted:
    """The outermost middleware: it sees every answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        labels = (_method(request), _route(request), f"{response.status_code // 100}xx")
        COUNT.labels(*labels).inc()
        if not (request.resolver_match and request.resolver_match.view_name in UNTIMED):
            SECONDS.labels(*labels).observe(time.perf_counter() - started)
        return response


def _method(request: HttpRequest) -> str:
    return request.method if request.method in METHODS else "other"


def _route(request: HttpRequest) -> str:
    """The route as docs/permissions.md spells it, never the address: that one has ids."""
    match = request.resolver_match
    return f"/{match.route}" if match else NO_ROUTE
