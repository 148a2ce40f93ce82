"""Texts in files that people open in a spreadsheet."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula


def inert(text: str) -> str:
    """The text; what would begin a formula gets an apostrophe before it, as spreadsheets themselves mark text."""
    return f"'{text}" if text.startswith(FORMULA) else text
