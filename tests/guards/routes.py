"""Every address of the console with what it asks for, read from the URL tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from console.accounts.permissions import SAFE, Asked, Open, asked_by
from console.accounts.roles import MAY, Permission, Role, TokenScope

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Route:
    """One address. `method` is None for a page, whose view declares the same for all its methods."""

    method: str | None
    address: str
    requires: tuple[Asked, ...]
    scope: TokenScope | None = None  # of a token, where the view says it itself

    def roles(self) -> list[Role]:
        """The roles that give what is asked, everyone's for an open address."""
        if any(isinstance(a, Open) for a in self.requires):
            return list(Role)
        return [role for role in Role if MAY[role] & {a for a in self.requires if isinstance(a, Permission)}]

    @property
    def is_public(self) -> bool:
        return Open.PUBLIC in self.requires

    @property
    def is_api(self) -> bool:
        return self.address.startswith("/api/")


def patterns() -> Iterator[tuple[str, Any]]:
    """Every address as the tree spells it, with its view."""
    yield from _below("/", get_resolver().url_patterns)


def _below(prefix: str, found: list[URLPattern | URLResolver]) -> Iterator[tuple[str, Any]]:
    for pattern in found:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _below(address, pattern.url_patterns)
        else:
            yield address, pattern.callback


def handled(view: Any) -> set[str]:
    """The methods that an API view has a function for."""
    return {method for method in METHODS if hasattr(view.cls, method.lower())}


def routes() -> list[Route]:
    """All of them; an API route once per method."""
    found = []
    for address, view in patterns():
        asked = asked_by(view)
        if isinstance(asked, Mapping):
            scope = getattr(view.cls, "changing_scope", None)
            found += [
                Route(method, address, _several(asked[method]), None if method in SAFE else scope)
                for method in METHODS
                if method in asked
            ]
        else:
            found.append(Route(None, address, tuple(asked or ())))
    return sorted(found, key=lambda route: (route.address, route.method or ""))


def _several(asked: Any) -> tuple[Asked, ...]:
    return asked if isinstance(asked, tuple) else (asked,)
