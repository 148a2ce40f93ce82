"""What a stored definition of a stream does with damaged lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from jobs.commands.stream_round import damaged_lines
from jobs.commands.stream_round.rules import Definition

register = template.Library()


@register.filter
def leaves_out_lines(definition: Mapping[str, Any]) -> bool:
    """Whether the stream leaves damaged lines out."""
    return damaged_lines.leaves_out(Definition.from_json(definition).source)


@register.filter
def why_uncounted(definition: Mapping[str, Any]) -> str:
    """Why it doesn't count them, in a sentence; empty if it does."""
    return damaged_lines.why_uncounted(Definition.from_json(definition))
