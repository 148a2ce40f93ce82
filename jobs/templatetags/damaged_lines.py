"""What a stored definition of a stream does with damaged lines, and what a round tells of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from jobs.commands.stream_round import damaged_lines
from jobs.commands.stream_round.rules import Definition

register = template.Library()


@register.filter
def tell_damaged_lines(batches: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of a round's batches counted the damaged lines that it left out. Rounds from before don't tell."""
    return any(batch.get("damaged_lines") is not None for batch in batches)


@register.filter
def why_uncounted(definition: Mapping[str, Any]) -> str:
    """Why it doesn't count them, in a sentence; empty if it does."""
    return damaged_lines.why_uncounted(Definition.from_json(definition))
