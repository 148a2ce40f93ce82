"""What a view or a route asks for, declared on it; a guard test fails for one that declares nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from console.accounts.models import Person, Token
from console.accounts.roles import NEEDS_SCOPE, Permission, TokenScope

if TYPE_CHECKING:
    # Its class body reads the settings that name Declared: imported here it would go in a circle.
    from rest_framework.views import APIView

View = TypeVar("View", bound=Callable[..., Any])


class Open(Enum):
    """What needs no permission: PUBLIC for everybody, SIGNED_IN for every person."""

    PUBLIC = "public"
    SIGNED_IN = "signed_in"


Asked = Permission | Open
AnyOf = tuple[Permission, ...]


def asks(*permissions: Asked) -> Callable[[View], View]:
    """Declares what a page's view asks for: any one of these permissions, somewhere. The object is checked by its service or query."""

    def declare(view: View) -> View:
        cast(Any, view).asks = permissions
        return view

    return declare


def asked_by(view: Any) -> tuple[Asked, ...] | Mapping[str, Any] | None:
    """What a view declares, None when it declares nothing."""
    for candidate in (view, getattr(view, "view_class", None), getattr(view, "cls", None)):
        if candidate is not None and getattr(candidate, "asks", None) is not None:
            return cast("tuple[Asked, ...] | Mapping[str, Any]", candidate.asks)
    return None


def check(person: Person, permissions: tuple[Asked, ...]) -> None:
    """Raises PermissionDenied unless the person has one of the permissions somewhere."""
    if any(isinstance(p, Open) for p in permissions):
        return
    if not any(person.may(p) for p in permissions if isinstance(p, Permission)):
        names = " or ".join(p.value for p in permissions)
        raise PermissionDenied(f"This needs {names}, which none of your roles gives.")


class Declared(BasePermission):
    """DRF's side: a view's `asks` maps each method to what it asks for; an undeclared method is refused."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not hasattr(view, (request.method or "").lower()):
            return isinstance(request.user, Person)  # DRF answers 405
        wanted = _wanted(view, request.method or "")
        if wanted is None:
            return False
        permissions = wanted if isinstance(wanted, tuple) else (wanted,)
        if Open.PUBLIC in permissions:
            return True
        if not isinstance(request.user, Person):
            return False
        if request.auth is None and request.user.must_change_password:
            raise PermissionDenied("Change the first password in the browser before anything else.")
        check(request.user, permissions)
        _check_token(request.auth, tuple(p for p in permissions if _has(request.user, p)), request.method or "")
        return True


def _wanted(view: APIView, method: str) -> Any:
    asked = getattr(view, "asks", {})
    if not isinstance(asked, Mapping):
        return asked
    if method == "OPTIONS":
        return Open.SIGNED_IN
    return asked.get("GET" if method == "HEAD" else method)


def _has(person: Person, asked: Asked) -> bool:
    return isinstance(asked, Open) or person.may(asked)


def _check_token(token: object, permissions: tuple[Asked, ...], method: str) -> None:
    if not isinstance(token, Token):
        return
    safe = method in {"GET", "HEAD", "OPTIONS"}
    needed = {NEEDS_SCOPE[p] for p in permissions if isinstance(p, Permission)} or {
        TokenScope.READ if safe else TokenScope.ADMIN
    }
    if not any(token.allows(scope) for scope in needed):
        names = " or ".join(sorted(s.value for s in needed))
        raise PermissionDenied(f"This token lacks the scope {names}.")


def person_of(request: HttpRequest | Request) -> Person:
    """The signed-in person; the middleware or DRF has seen to it that there is one."""
    if not isinstance(request.user, Person):
        raise PermissionDenied("Sign in first.")
    return request.user
