"""The damaged lines that a stream leaves out, on pages: what its definition does with them, and what its batches tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from console.base.text.counted import counted
from jobs.commands.stream_round.damaged_lines import leaves_out, why_uncounted
from jobs.commands.stream_round.rules import Definition
from jobs.models import Stream, StreamBatch


def why_uncounted_by(definition: Mapping[str, Any]) -> str:
    """Why a stored definition doesn't count them, in a sentence; empty if it does."""
    return why_uncounted(Definition.from_json(definition))


def tell_damaged_lines(batches: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of a round's batches, as its job keeps them, counted them. Rounds from before don't tell."""
    return any(batch.get("damaged_lines") is not None for batch in batches)


def is_told(stream: Stream, batches: Iterable[StreamBatch]) -> bool:
    """Whether the page has a place for them: the stream leaves some out, or has left some out in these batches."""
    return leaves_out_now(stream) or any(batch.damaged_lines is not None for batch in batches)


def leaves_out_now(stream: Stream) -> bool:
    """Whether its definition, as it is now, leaves damaged lines out."""
    return leaves_out(Definition.from_json(stream.definition).source)


def total_text(newest: Sequence[StreamBatch]) -> str:
    """The last 48 micro-batches left out 12 damaged lines. Empty while none of them counted its lines."""
    ran = [batch for batch in newest if not batch.skipped]
    numbers = [batch.damaged_lines for batch in ran if batch.damaged_lines is not None]
    if not numbers:
        return ""
    uncounted = len(ran) - len(numbers)
    those = "The last micro-batch" if len(newest) == 1 else f"The last {len(newest):,} micro-batches"
    total = sum(numbers)
    text = f"{those} left out {lines_text(total, at_least=uncounted > 0 and total > 0)}"
    return f"{text} ({uncounted:,} of them didn’t count)." if uncounted else f"{text}."


def lines_text(number: int, *, at_least: bool = False) -> str:
    """12 damaged lines."""
    if not number:
        return "no damaged lines"
    return f"{'at least ' if at_least else ''}{counted(number, 'damaged line')}"


def all_damaged(stream: Stream, newest: Sequence[StreamBatch]) -> StreamBatch | None:
    """The newest batch that ran, if it had lines and every one was damaged, while the stream leaves such lines out."""
    last = next((batch for batch in newest if not batch.skipped), None)
    if last is None or not last.damaged_lines or last.damaged_lines != last.input_rows:
        return None
    return last if leaves_out_now(stream) else None
