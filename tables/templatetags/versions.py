"""The version that a page of a table shows, chosen beside its tabs."""

from __future__ import annotations

from typing import Any

from django import template

from tables.models import Table
from tables.web.table import version_chooser

register = template.Library()


@register.inclusion_tag("tables/table/_tab_bar.html", takes_context=True)
def tab_bar(context: template.Context) -> dict[str, Any]:
    """The tabs of a table's page, which lead to the version that the page shows, and the field for another one.

    The page says which it is by `asked` (tables.web.table.shared.VersionAsked), a commit's by `commit` and `incarnation`.
    """
    request, table, tabs = context.get("request"), context.get("table"), context.get("tabs")
    if request is None or not isinstance(table, Table) or table.version is None:
        return {"tabs": tabs}
    shown = version_chooser.shown_by(table, context.get("asked"), context.get("commit"), context.get("incarnation"))
    chooser = version_chooser.chooser(request.user, table, str(context.get("tab", "")), shown, request.GET)
    return {
        "tabs": version_chooser.at_version(tabs or [], chooser),
        "chooser": chooser,
        "only_newest": version_chooser.only_newest(tabs or [], chooser),
    }


@register.simple_tag(takes_context=True)
def url_with(context: template.Context, **changes: Any) -> str:
    """The page's own query with these entries changed; None takes one out."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value is not None:
            query[name] = str(value)
    return str(query.urlencode())
