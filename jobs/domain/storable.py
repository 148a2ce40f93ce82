"""Values made storable as JSON: PostgreSQL's jsonb holds no NUL, no half of a surrogate pair, and neither NaN nor infinities."""

from __future__ import annotations

import math
from typing import Any

NUL, PICTURE_OF_NUL = "\x00", "␀"


def storable_text(text: str) -> str:
    """The text with a picture for each NUL, and `?` for each half of a surrogate pair."""
    return text.replace(NUL, PICTURE_OF_NUL).encode("utf-8", "replace").decode("utf-8")


def storable(value: Any) -> Any:
    """A JSON value that can be stored, at any depth; NaN and the infinities become texts, as rows show them."""
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _in_words(value)
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable_text(str(name)): storable(item) for name, item in value.items()}
    return value


def _in_words(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
