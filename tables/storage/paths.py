"""Paths compared by their texts, and what is wrong with one."""

from __future__ import annotations


class BadPlace(ValueError):
    """A text that is no place of its kind of storage, or a place that can't be a root; the message is for the reader."""


def is_at_or_below(path: str, top: str) -> bool:
    """Whether a path is another or lies below it, by their texts."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")
