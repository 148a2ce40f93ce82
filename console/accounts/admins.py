"""Whom to ask for a role."""

from __future__ import annotations

from console.accounts.models import Grant, Person
from console.accounts.roles import Role

NAMED = 5


def admin_names() -> list[str]:
    """The people who can give any role anywhere, by name; the first few."""
    admins = Person.objects.filter(
        is_active=True, grants__role=Role.ADMIN, grants__scope=Grant.Scope.EVERYTHING
    ).distinct()
    return list(admins.order_by("name").values_list("name", flat=True)[:NAMED])


def ask_admins() -> str:
    """A sentence for a person without any role."""
    names = admin_names()
    return f"Ask an admin for one: {', '.join(names)}." if names else "Ask an admin for one."
