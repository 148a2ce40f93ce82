"""docs/permissions.md, from the code: `make pages` writes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from console.supervisor.tools import PROJECT

if TYPE_CHECKING:
    from tests.guards.routes import Route

PAGE = PROJECT / "docs" / "permissions.md"
HEAD = """# Permissions

Nobody bypasses these tables: there is no superuser. A role is granted on a scope (everything, a root, a table) and
holds there and below. Where a person has the permission nowhere, the answer is 403; where they have it elsewhere only,
an object outside their scope is 404, as if it weren't there.

A token does at most what its owner may do, and only what its scopes name. For addresses open to every person a token
needs `read`, for changes there `admin`; for `any_token` any scope is enough.

This page is generated from the code (`tests/guards/permission_tables.py`); a test fails when the two differ, and another
one calls every address as every role.
"""


def render() -> str:
    """The page as it must be."""
    from tests.guards.routes import routes

    every = routes()
    parts = [
        HEAD,
        "## What a role may do\n",
        _roles(),
        "## The API\n",
        _table(["method", "address", "asks for", "roles"], [[r.method or "", *_row(r)] for r in every if r.method]),
        "## Pages\n",
        _table(["address", "asks for", "roles"], [_row(r) for r in every if not r.method]),
    ]
    return "\n".join(parts)


def _roles() -> str:
    from console.accounts.roles import MAY, NEEDS_SCOPE, Permission, Role

    rows = [
        [
            f"`{permission}`",
            f"`{NEEDS_SCOPE[permission]}`",
            *("yes" if permission in MAY[role] else "" for role in Role),
        ]
        for permission in Permission
    ]
    return _table(["permission", "token scope", *Role.values], rows)


def _row(route: Route) -> list[str]:
    requires = " or ".join(f"`{a.value}`" for a in route.requires)
    requires += f", a token `{route.scope}`" if route.scope else ""
    who = "everybody" if route.is_public else ", ".join(route.roles())
    if not route.is_public and requires in {"`signed_in`", "`any_token`"}:
        who = "every person"
    return [f"`{route.address}`", requires, who]


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    PAGE.write_text(render())
