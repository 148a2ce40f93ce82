"""What an address asks for, in the OpenAPI document: its permissions, the roles that have one of them, and a token's scopes."""

from __future__ import annotations

from typing import Any

from console.accounts.permissions import Open, scopes_needed
from console.accounts.roles import MAY, Permission, Role
from console.base.openapi import LeveeSchema


class DeclaredSchema(LeveeSchema):
    """Adds `x-permissions`, `x-roles` and `x-token-scopes` to each operation; of each list, one is enough.

    Where every person may call it there are neither permissions nor roles, and where everybody may, no scopes either.
    """

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation as OpenAPI has it."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        return operation and operation | _asked(self.view, self.method)


def _asked(view: Any, method: str) -> dict[str, list[str]]:
    declared = view.requires[method]
    asked = declared if isinstance(declared, tuple) else (declared,)
    if Open.PUBLIC in asked:
        return {"x-permissions": [], "x-roles": [], "x-token-scopes": []}
    permissions = {permission for permission in asked if isinstance(permission, Permission)}
    return {
        "x-permissions": [permission.value for permission in Permission if permission in permissions],
        "x-roles": [role.value for role in Role if MAY[role] & permissions],
        "x-token-scopes": sorted(scope.value for scope in scopes_needed(asked, method, view)),
    }
