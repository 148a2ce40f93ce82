"""Rates of batches as Spark measures them, and as unknown where it couldn't measure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jobs.models import Stream, StreamBatch
from jobs.web.streams.batch_times import is_behind, seconds_text

NO_RATE = "Spark reported no rate for this batch"
FIRST_OF_ITS_RUN = "Spark measures this rate from one trigger to the next; this batch is the first of its run"


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate in words; None where Spark couldn't know it, which `why` explains."""

    text: str | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of the newest batch. `over`: how much longer than its trigger it took."""

    input: Rate
    processed: Rate
    over: str | None


def rates_of(stream: Stream, batch: StreamBatch | None) -> Rates | None:
    """None before the first batch."""
    if batch is None:
        return None
    behind = is_behind(stream, batch.took_ms)
    over = seconds_text((batch.took_ms or 0) - (stream.interval_seconds or 0) * 1000) if behind else None
    return Rates(input_rate(batch), processed_rate(batch), over)


def input_rate(batch: StreamBatch) -> Rate:
    """Rows in per second since the trigger before this one. Spark divides by an infinite time where there was none and reports 0.0."""
    return _rate(batch.input_rate, batch.input_rows, FIRST_OF_ITS_RUN)


def processed_rate(batch: StreamBatch) -> Rate:
    """Rows in per second of the batch's own time."""
    return _rate(batch.processed_rate, batch.input_rows, "Spark doesn’t know how long this batch took")


def _rate(value: float | None, rows: int | None, why_zero: str) -> Rate:
    """`why_zero`: why Spark reports none although rows came in."""
    if value is None or not math.isfinite(value):
        return Rate(None, NO_RATE)
    if value == 0 and rows:
        return Rate(None, why_zero)
    return Rate(f"{value:,.0f} rows/s" if value >= 10 else f"{value:,.1f} rows/s")
