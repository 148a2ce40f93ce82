"""The reference of the API. It holds what is in the OpenAPI document and no fact of this instance, so it is for everybody."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.accounts.permissions import Open, requires
from console.accounts.roles import SCOPE_MEANS
from console.base.errors import PROBLEM_TYPE
from console.pages.reference.curl import curl
from console.pages.reference.operations import Operation, by_slug, subjects

EXAMPLE = "/me"  # for the first call


def index(request: HttpRequest) -> HttpResponse:
    """Every operation, and what holds for all of them."""
    base = base_of(request)
    context = {
        "subjects": subjects(),
        "base": base,
        "schema_url": reverse("api_schema"),
        "scopes": [(scope.value, text) for scope, text in SCOPE_MEANS.items()],
        "problem_type": PROBLEM_TYPE,
        "example": f'export LEVEE_TOKEN=lv_…\ncurl -s -H "Authorization: Bearer $LEVEE_TOKEN" "{base}{EXAMPLE}"',
    }
    return render(request, "reference/index.html", context)


@requires(Open.PUBLIC)
@require_safe
def operation_page(request: HttpRequest, operation: str) -> HttpResponse:
    """One operation; whoever is signed in can try it."""
    shown = by_slug().get(operation)
    if shown is None:
        raise Http404("The API has no such operation.")
    return render(request, "reference/operation.html", context_of(shown, base_of(request)))


def context_of(shown: Operation, base: str) -> dict[str, Any]:
    """What the page of an operation shows. `base` is the address of the API."""
    bodies = [(each, curl(shown, base, each.sample)) for each in shown.bodies]
    return {
        "operation": shown,
        "subject": next(each for each in subjects() if each.name == shown.subject),
        "bodies": bodies,
        "curl": "" if bodies else curl(shown, base),
        "try_url": f"{reverse('api_index')}{shown.address.removeprefix('/')}",
    }


def base_of(request: HttpRequest) -> str:
    """The address of the API, as programs are given it."""
    return request.build_absolute_uri(reverse("api_index")).rstrip("/")
