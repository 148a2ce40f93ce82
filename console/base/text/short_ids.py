"""Ids as pages show them: the first eight characters, by which an id is found again."""

from __future__ import annotations

import re
import uuid

BEGINNING = r"[0-9a-fA-F]{8}[0-9a-fA-F-]{0,28}"
_BEGINNING = re.compile(BEGINNING)


def begins_an_id(text: str) -> bool:
    """Whether it is an id, or as much of one as pages show."""
    return _BEGINNING.fullmatch(text) is not None


def ids_from(beginning: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The first and last id that begin so, whether with dashes or without; None if none can."""
    digits = beginning.replace("-", "").lower()
    if not digits or len(digits) > 32 or set(digits) - set("0123456789abcdef"):
        return None
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
