"""Names in a sentence: the first of them, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 20) -> str:
    """`a, b and 3 more`; all of them up to `most`."""
    rest = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
