"""States of streams in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from console.templatetags.formatting.looks import STATE_LOOKS, StateLook
from console.templatetags.levee import duration
from jobs.models import Stream

LOOKS: Mapping[str, StateLook] = {state: STATE_LOOKS[state] for state in Stream.State}
NEVER_STARTED = StateLook("idle", "player-stop", "Never started")
BEHIND = StateLook("wait", "alert-triangle", "Falls behind")

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]{2,80}(?:\.[A-Z][A-Z0-9_]{2,80})*)\]")
WRAPPER = "STREAM_FAILED"


def look_of(stream: Stream, *, behind: bool) -> StateLook:
    """How its state looks; a stream that has run no round was never started, however long it is there."""
    if behind:
        return BEHIND
    return LOOKS[stream.state] if was_started(stream) else NEVER_STARTED


def was_started(stream: Stream) -> bool:
    """Whether it runs, or has run a round."""
    return stream.state != Stream.State.STOPPED or stream.rounds > 0


def condition_of(error: Mapping[str, Any] | None) -> str:
    """The engine's condition of a failure: the one inside STREAM_FAILED, which Spark puts around every error of a query."""
    engine = (error or {}).get("engine") or {}
    condition = str(engine.get("condition") or "")
    if condition and condition != WRAPPER:
        return condition
    inside = [name for name in _CLASS.findall(str(engine.get("message") or "")[:20_000]) if name != WRAPPER]
    return inside[0] if inside else condition


def heading(stream: Stream, behind: bool) -> str:
    """The stream and its state as a sentence."""
    match stream.state:
        case Stream.State.RUNNING if behind:
            said = "falls behind"
        case Stream.State.RUNNING if stream.interval_seconds:
            said = f"runs every {duration(stream.interval_seconds)}"
        case Stream.State.RUNNING:
            said = "runs until it has read what its source holds"
        case Stream.State.STOPPING:
            said = "stops after its current round"
        case Stream.State.FAILED:
            said = "failed"
        case _:
            said = "is stopped" if was_started(stream) else "was never started"
    return f"{stream.name} {said}"
