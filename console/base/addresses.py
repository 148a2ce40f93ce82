"""Addresses that a request names as its next page: followed only to pages of this console."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from django.urls import get_script_prefix
from django.utils.http import url_has_allowed_host_and_scheme


def leads_into_levee(address: str) -> bool:
    """Whether it is an address without a host, below the path that this instance is served at; other applications may share its host."""
    if not url_has_allowed_host_and_scheme(address, allowed_hosts=None):
        return False
    path = urlsplit(address).path
    return path.startswith(get_script_prefix()) and ".." not in unquote(path).replace("\\", "/").split("/")
