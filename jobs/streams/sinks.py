"""A stream's sink as Spark describes it."""

from __future__ import annotations

from jobs.models import Stream


def sink_of(stream: Stream) -> str:
    """`DeltaSink[path]`, the text of Delta's own sink (`DeltaSink.toString`)."""
    return f"DeltaSink[{stream.definition['path']}]"
