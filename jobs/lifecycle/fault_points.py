"""Fault points: named points in a job's life where a test can inject a crash. They do nothing outside tests."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class FaultPoint(StrEnum):
    REQUEST_WRITTEN = "request row written"
    WAKE_SENT = "wake-up sent"
    WAKE_RECEIVED = "received"
    CLAIMED = "claimed"
    LOCK_TAKEN = "lock taken"
    VERSION_CHECKED = "version checked"
    SPARK_STARTED = "Spark started"
    FILES_WRITTEN = "data files written"
    COMMIT_VISIBLE = "commit visible"
    RESULT_WRITTEN = "result written"
    LOCK_RELEASED = "lock released"


_armed: Callable[[str], None] | None = None


def arm(hook: Callable[[str], None] | None) -> None:
    """For tests only: calls `hook` with the name of each point reached; None disarms."""
    global _armed
    _armed = hook


def reached(point: str) -> None:
    """Reports to the armed hook that the job has reached a point."""
    if _armed is not None:
        _armed(str(point))
