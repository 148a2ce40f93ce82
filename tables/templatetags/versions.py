"""The ways between the pages of a version, for every template that shows one."""

from __future__ import annotations

from typing import Any

from django import template

from console.accounts.models import Person
from tables.history import version_links as versions
from tables.models import Table

register = template.Library()


@register.inclusion_tag("tables/table/_version_links.html", takes_context=True)
def version_links(
    context: template.Context, version: Any, current: str, incarnation: int | None = None
) -> dict[str, Any]:
    """Links to the other pages of a version and to its neighbours. `version` may be typed text; without one, the newest."""
    table, person = context.get("table"), getattr(context.get("request"), "user", None)
    if not isinstance(table, Table) or not isinstance(person, Person) or table.version is None:
        return {}
    text = str(table.version if version in (None, "") else version)
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return {}
    return {"ways": versions.ways(person, table, int(text), current, incarnation)}


@register.simple_tag(takes_context=True)
def url_with(context: template.Context, **changes: Any) -> str:
    """The page's own query with these entries changed; None takes one out."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return str(query.urlencode())
