"""Whom to ask for a role."""

from __future__ import annotations

from collections.abc import Sequence

from console.accounts.models import Grant, Person
from console.accounts.roles import MAY, Permission, Role

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


def role_needed(*permissions: Permission, where: str = "") -> str:
    """Why somebody may not, in words: which role they need, on what (`where`), and who can give it."""
    roles = [role.value for role in Role if MAY[role] & set(permissions)]
    what = "a role" if len(roles) == len(Role) else f"the role {either(roles)}"
    return f"You need {what}{f' on {where}' if where else ''} for this. {who_gives_roles()}"


def who_gives_roles() -> str:
    """A sentence of who can give a role."""
    names = admin_names()
    return f"{either(names)} can give it to you." if names else "An admin can give it to you."


def either(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
