"""Secrets in what a table says of itself: Delta keeps property values and options as they were given, keys and all."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "*** masked ***"
# Spark's own `spark.redaction.regex`, and the words by which storage connectors call theirs.
_NAMES = re.compile(
    r"(?i)secret|password|passwd|pwd|token|access[._-]?key|account[._-]?key|\bsas\b|credential|private[._-]?key|api[._-]?key|authorization"
)
_IN_URI = re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://)[^/@\s]+@")
_IN_QUERY = re.compile(r"(?i)([?&;](?:sig|sas|token|signature|x-amz-[a-z-]+|password|secret|key)=)[^&;\s\"']+")
_IN_JSON = re.compile(r"(\"(?:[^\"\\]|\\.){0,200}\"\s*:\s*)\"((?:[^\"\\]|\\.)*)\"")


def is_secret_name(name: str) -> bool:
    """True for the name of a property or option whose value nobody should read."""
    return _NAMES.search(name) is not None


def masked(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """The mapping with secret values masked: by name, inside JSON texts, and in URIs."""
    return {name: MASK if value and is_secret_name(name) else masked_text(value) for name, value in values.items()}


def masked_text(value: str | None) -> str | None:
    """A text without the credentials of URIs and without values of secret names in JSON that it holds."""
    if not value:
        return value
    value = _IN_URI.sub(rf"\1{MASK}@", value)
    value = _IN_QUERY.sub(rf"\1{MASK}", value)
    return _IN_JSON.sub(_masked_pair, value) if value[:1] in "{[" else value


def _masked_pair(pair: re.Match[str]) -> str:
    return f'{pair[1]}"{MASK}"' if is_secret_name(pair[1]) else pair[0]
