"""Secrets never reach a log, an event or a page."""

from __future__ import annotations

import re

_NAMED = re.compile(
    r"(?i)([\w.-]*(?:password|passwd|secret|token|credential|access[._-]?key|account[._-]?key|sas)[\w.-]*)(\s*[=:]\s*|\s+->\s+)(\S+)"
)
_IN_URI = re.compile(r"(\w+://[^/\s:@]+:)[^@\s/]+@")


def masked(text: str) -> str:
    """The text with the values of secret-looking settings, and passwords in URIs, replaced by stars."""
    return _IN_URI.sub(r"\1***@", _NAMED.sub(r"\1\2***", text))
