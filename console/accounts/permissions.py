"""The permissions of a view or route, declared on it; a guard test fails for one that declares none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from console.accounts.admins import role_needed
from console.accounts.models import Person, Token
from console.accounts.roles import GUARDED, NEEDS_SCOPE, Permission, TokenScope
from console.accounts.sign_in.step_up import Purpose, require_recent

if TYPE_CHECKING:
    # Its class body reads the settings that name Declared: imported here it would go in a circle.
    from rest_framework.views import APIView

View = TypeVar("View", bound=Callable[..., Any])


class Open(Enum):
    """No permission needed: PUBLIC for everyone, SIGNED_IN for every signed-in person, ANY_TOKEN for them whatever the token's scopes."""

    PUBLIC = "public"
    SIGNED_IN = "signed_in"
    ANY_TOKEN = "any_token"


Asked = Permission | Open
AnyOf = tuple[Permission, ...]


def requires(*permissions: Asked) -> Callable[[View], View]:
    """Declares a page view's permissions: any one of them, on any scope. The service or query checks the object."""

    def declare(view: View) -> View:
        cast(Any, view).requires = permissions
        return view

    return declare


def asked_by(view: Any) -> tuple[Asked, ...] | Mapping[str, Any] | None:
    """The permissions that a view declares, None if it declares none."""
    for candidate in (view, getattr(view, "view_class", None), getattr(view, "cls", None)):
        if candidate is not None and getattr(candidate, "requires", None) is not None:
            return cast("tuple[Asked, ...] | Mapping[str, Any]", candidate.requires)
    return None


def lets_in(person: Person, permissions: tuple[Asked, ...]) -> bool:
    """Whether the person has one of the permissions somewhere. Why not, which takes a query, is `check`'s to say."""
    return any(isinstance(p, Open) or person.may(p) for p in permissions)


def check(person: Person, permissions: tuple[Asked, ...]) -> None:
    """Raises PermissionDenied unless the person has one of the permissions somewhere."""
    if not lets_in(person, permissions):
        raise PermissionDenied(role_needed(*(p for p in permissions if isinstance(p, Permission))))


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOKING = frozenset(
    {Permission.TABLE_READ, Permission.AUDIT_READ}
)  # beside another permission: they open the page, not its acts


def takes_password(permissions: tuple[Asked, ...], method: str) -> bool:
    """Whether a change with these permissions needs a recently entered password, in a session."""
    acts = frozenset(permissions) - _LOOKING
    return method not in SAFE and bool(acts) and acts <= GUARDED


class Declared(BasePermission):
    """DRF's side: a view's `requires` maps each method to its permissions; refuses an undeclared method."""

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
        if takes_password(permissions, request.method or ""):
            require_recent(request, Purpose.ACCESS)
        held = tuple(p for p in permissions if _has(request.user, p))
        _check_token(request.auth, scopes_needed(held, request.method or "", view))
        return True


def _wanted(view: APIView, method: str) -> Any:
    asked = getattr(view, "requires", {})
    if not isinstance(asked, Mapping):
        return asked
    if method == "OPTIONS":
        return Open.SIGNED_IN
    return asked.get("GET" if method == "HEAD" else method)


def _has(person: Person, asked: Asked) -> bool:
    return isinstance(asked, Open) or person.may(asked)


def _check_token(token: object, needed: Collection[TokenScope]) -> None:
    if isinstance(token, Token) and not any(token.allows(scope) for scope in needed):
        names = " or ".join(sorted(s.value for s in needed))
        raise PermissionDenied(f"This token lacks the scope {names}.")


def scopes_needed(permissions: tuple[Asked, ...], method: str, view: object) -> set[TokenScope]:
    """The scopes of which a token needs one: those of the permissions, and where none is asked read, or admin for a change.

    A view whose changes take no permission but to look says their scope itself: `changing_scope`.
    """
    changing: TokenScope | None = getattr(view, "changing_scope", None)
    if changing and method not in SAFE:
        return {changing}
    if Open.ANY_TOKEN in permissions:
        return set(TokenScope)
    needed = {NEEDS_SCOPE[p] for p in permissions if isinstance(p, Permission)}
    return needed or {TokenScope.READ if method in SAFE else TokenScope.ADMIN}


def person_of(request: HttpRequest | Request) -> Person:
    """The signed-in person, whom the middleware or DRF guarantees."""
    if not isinstance(request.user, Person):
        raise PermissionDenied("Sign in first.")
    return request.user
