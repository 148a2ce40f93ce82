"""Ids as pages show them, in addresses: the first 8 characters, or more of them, but not all."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.http import Http404
from django.urls import Resolver404, register_converter, resolve
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from console.accounts.models import Person
from console.accounts.permissions import Open, person_of
from console.base.errors import Problem
from jobs.targets.access import visible_to
from jobs.web.jobs.queries import JobFilter

NAMED = 5  # of the jobs whose ids begin alike


class ShortId:
    """Django's converter for a part of an address that is the beginning of an id."""

    regex = "[0-9a-f]{8}[0-9a-f-]{0,27}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ShortId, "short_id")


def beginning_with(person: Person, short: str) -> list[uuid.UUID]:
    """The ids of the jobs that the person sees and whose ids begin so; the first few."""
    return list(JobFilter(id=short).apply(visible_to(person)).order_by().values_list("pk", flat=True)[:NAMED])


@extend_schema(exclude=True)  # what the addresses with the whole id are documented to do
class JobByShortId(APIView):
    """Any address of a job, with the beginning of its id: handed on to the address with all of it, which asks for what it asks for."""

    requires: ClassVar[dict[str, Open]] = {"GET": Open.ANY_TOKEN, "POST": Open.ANY_TOKEN}

    def get(self, request: Request, short: str, act: str = "") -> Any:
        """The answer of the address with the whole id. Raises Problem 404 `not_found` with the ids, where several begin so."""
        found = beginning_with(person_of(request), short)
        if len(found) > 1:
            names = ", ".join(map(str, found))
            raise Problem(404, "not_found", f"The ids of several jobs begin with {short}: {names}.")
        if not found:
            raise Http404
        try:
            view, arguments, named = resolve(request.path_info.replace(short, str(found[0]), 1))
        except Resolver404:
            raise Http404 from None
        return view(request._request, *arguments, **named)

    post = get
