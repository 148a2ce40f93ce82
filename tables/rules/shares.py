"""Shares as percentages for people."""

from __future__ import annotations


def percent(part: float, whole: float, decimals: int = 0) -> str:
    """`part` of `whole` (not 0) as "33%"; what is neither nothing nor all is never rounded to it."""
    share, least = 100 * part / whole, 10**-decimals
    if 0 < share < least:
        return f"< {least:g}%"
    if 100 - least < share < 100:
        return f"> {100 - least:g}%"
    return f"{share:.{decimals}f}%"
