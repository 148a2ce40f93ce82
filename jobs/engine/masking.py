"""Secrets in what a table, a catalog or a log line says: keys that name one lose their value."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "********"
SECRET_KEY = re.compile(
    r"^(?:option\.|spark\.hadoop\.)*fs\.|password|passwd|secret|token|credential|access[._-]?key|account[._-]?key"
    r"|api[._-]?key|private[._-]?key|signature|\bsas\b",
    re.IGNORECASE,
)
USER_IN_URL = re.compile(r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)")
ASSIGNMENT = re.compile(r"(?i)\b([\w.\-]*(?:password|secret|token|access[._-]?key)[\w.\-]*)(\s*[=:]\s*)(\S+)")


def masked(values: Mapping[str, str]) -> dict[str, str]:
    """The mapping with the values of secret-like keys masked, keys sorted; `fs.*` settings always count as secret."""
    return {key: MASK if SECRET_KEY.search(key) else masked_text(str(values[key])) for key in sorted(values)}


def masked_text(text: str) -> str:
    """A text without `user:password@` in URLs and without values after names like `password=`."""
    return ASSIGNMENT.sub(rf"\1\2{MASK}", USER_IN_URL.sub(MASK, text))
