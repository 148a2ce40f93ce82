"""Which part of the navigation you are in."""

from __future__ import annotations

from django.template import Context
from django.utils.safestring import SafeString


def current(context: Context, *prefixes: str) -> SafeString:
    """`aria-current="page"` when the page's route starts with one of the prefixes (`tables:`, `jobs:list`)."""
    request = context.get("request")
    match = getattr(request, "resolver_match", None)
    name = match.view_name if match else ""
    return SafeString(' aria-current="page"' if name.startswith(prefixes) else "")  # nosec B703  # one of two constants
