"""Ids as pages show them, in addresses: the first 8 characters, or more of them, but not all."""

from __future__ import annotations


class ShortId:
    """Django's converter for a part of an address that is the beginning of an id."""

    regex = "[0-9a-f]{8}[0-9a-f-]{0,27}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
