"""Refusals of a stream’s request."""

from __future__ import annotations

from console.base.errors import Problem


def invalid(field: str, text: str, code: str = "invalid") -> Problem:
    """A refusal of one field of the request."""
    return Problem(400, code, text, fields={field: text})
