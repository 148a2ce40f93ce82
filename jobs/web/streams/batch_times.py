"""How long a batch took: in words, and whether that was longer than the trigger leaves it."""

from __future__ import annotations

from console.templatetags.levee import duration
from jobs.models import Stream


def is_late(took_ms: int | None, interval_seconds: int | None) -> bool:
    """Whether a batch took longer than the trigger."""
    return took_ms is not None and interval_seconds is not None and took_ms > interval_seconds * 1000


def is_behind(stream: Stream, took_ms: int | None) -> bool:
    """Whether the stream runs and its last batch took longer than its trigger leaves it."""
    return stream.state == Stream.State.RUNNING and is_late(took_ms, stream.interval_seconds)


def seconds_text(ms: int | None) -> str | None:
    """Milliseconds as people compare them: `840 ms`, `9.7 s`, `2 min 3 s`."""
    if ms is None:
        return None
    if ms < 1000:
        return f"{ms} ms"
    return f"{ms / 1000:.1f} s" if ms < 60_000 else str(duration(ms / 1000))
