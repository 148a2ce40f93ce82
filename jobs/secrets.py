"""Secrets never reach a log, an event or a page."""

from __future__ import annotations

import re

# Each begins where a word begins: a line of thousands of letters costs one look, not one per letter.
_SETTING = re.compile(r"(?<![\w.-])([\w.-]+)(\s*[=:]\s*|\s+->\s+)(\S+)")
_SECRET = re.compile(r"(?i)password|passwd|secret|token|credential|access[._-]?key|account[._-]?key|sas")
_IN_URI = re.compile(r"(\b\w+://[^/\s:@]+:)[^@\s/]+@")


def masked(text: str) -> str:
    """The text with the values of secret-looking settings, and passwords in URIs, replaced by stars."""
    return _IN_URI.sub(r"\1***@", _SETTING.sub(_stars, text))


def _stars(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    return f"{name}{between}{'***' if _SECRET.search(name) else value}"
