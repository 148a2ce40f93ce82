"""What a link fills in on a page that asks for a change; it stays to be edited."""

from __future__ import annotations

from django.http import HttpRequest

from jobs.requests.asking import REASON_LENGTH


def reason_in(request: HttpRequest) -> str:
    """The reason that the address brings along, cut to what the field may hold."""
    return request.GET.get("reason", "")[:REASON_LENGTH]
