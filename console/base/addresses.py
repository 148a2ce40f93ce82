"""Addresses: those that a request names as its next page, followed only to pages of this console, and those of the pages of many rows."""

from __future__ import annotations

import uuid
from functools import cache
from urllib.parse import unquote, urlsplit

from django.urls import get_script_prefix, reverse
from django.utils.http import url_has_allowed_host_and_scheme

_ANY = uuid.UUID(int=0)


def leads_into_levee(address: str) -> bool:
    """Whether it is an address without a host, below the path that this instance is served at; other applications may share its host."""
    if not url_has_allowed_host_and_scheme(address, allowed_hosts=None):
        return False
    path = urlsplit(address).path
    return path.startswith(get_script_prefix()) and ".." not in unquote(path).replace("\\", "/").split("/")


def address_of(name: str, key: uuid.UUID) -> str:
    """The address of a row's page, as `reverse` gives it for the row's id alone: looked up once, for a list has hundreds of rows."""
    return _of_any(name, get_script_prefix()).replace(str(_ANY), str(key))


@cache
def _of_any(name: str, _prefix: str) -> str:
    return reverse(name, args=[_ANY])
