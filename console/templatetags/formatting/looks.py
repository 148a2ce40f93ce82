"""How states, levels, stages and events look: tone, icon and word of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class StateLook(NamedTuple):
    """How one state is shown: a tone class, an icon of the sprite, and the word that carries the meaning."""

    tone: str
    icon: str
    word: str


STATE_LOOKS: Mapping[str, StateLook] = {
    "previewing": StateLook("run", "loader-2", "Measuring"),
    "awaiting_approval": StateLook("wait", "user-check", "Waiting for approval"),
    "queued": StateLook("idle", "clock", "Queued"),
    "running": StateLook("run", "loader-2", "Running"),
    "cancelling": StateLook("wait", "loader-2", "Cancelling"),
    "reconciling": StateLook("unknown", "help-circle", "Unknown: checking"),
    "succeeded": StateLook("ok", "circle-check", "Succeeded"),
    "failed": StateLook("bad", "circle-x", "Failed"),
    "cancelled": StateLook("idle", "ban", "Cancelled"),
    "rejected": StateLook("bad", "circle-x", "Rejected"),
    "withdrawn": StateLook("idle", "arrow-back-up", "Withdrawn"),
    "expired": StateLook("idle", "clock-off", "Expired"),
    "stale": StateLook("wait", "git-branch", "Stale"),
    # Streams.
    "stopped": StateLook("idle", "player-stop", "Stopped"),
    "stopping": StateLook("wait", "player-stop", "Stopping"),
    # Roots and schedules.
    "paused": StateLook("idle", "player-pause", "Paused"),
    # Workers and the other parts of the console.
    "ready": StateLook("ok", "circle-check", "Ready"),
    "idle": StateLook("ok", "circle-check", "Idle"),
    "busy": StateLook("run", "loader-2", "Busy"),
    "starting": StateLook("run", "loader-2", "Starting"),
    "draining": StateLook("wait", "player-pause", "Draining"),
    "lost": StateLook("unknown", "help-circle", "Lost"),
    "down": StateLook("bad", "circle-x", "Down"),
}


class LevelLook(NamedTuple):
    """How a banner or a finding of one level is shown; the label is what a screen reader says for the icon."""

    tone: str
    icon: str
    label: str


LEVEL_LOOKS: Mapping[str, LevelLook] = {
    "error": LevelLook("bad", "circle-x", "Error"),
    "warning": LevelLook("wait", "alert-triangle", "Warning"),
    "unknown": LevelLook("unknown", "help-circle", "Unknown"),
    "info": LevelLook("run", "info-circle", "Note"),
    "success": LevelLook("ok", "circle-check", "Done"),
}

STAGE_LOOKS: Mapping[str, LevelLook] = {
    "done": LevelLook("ok", "circle-check", "Done"),
    "now": LevelLook("run", "loader-2", "Now"),
    "failed": LevelLook("bad", "circle-x", "Failed"),
    "stopped": LevelLook("idle", "player-stop", "Stopped"),
    "todo": LevelLook("idle", "circle-dashed", "To do"),
}

EVENT_LOOKS: Mapping[str, LevelLook] = {
    "requested": LevelLook("idle", "pencil", "Requested"),
    "awaiting_approval": LevelLook("wait", "user-check", "Measured"),
    "approved": LevelLook("ok", "circle-check", "Approved"),
    "rejected": LevelLook("bad", "circle-x", "Rejected"),
    "comment": LevelLook("idle", "user-circle", "Comment"),
    "previewing": LevelLook("idle", "pencil", "Requested"),
    "queued": LevelLook("idle", "clock", "Queued"),
    "running": LevelLook("run", "player-play", "Started"),
    "succeeded": LevelLook("ok", "circle-check", "Succeeded"),
    "failed": LevelLook("bad", "circle-x", "Failed"),
    "cancelling": LevelLook("wait", "player-stop", "Cancel requested"),
    "cancelled": LevelLook("idle", "ban", "Cancelled"),
    "reconciling": LevelLook("unknown", "help-circle", "Unknown"),
    "withdrawn": LevelLook("idle", "arrow-back-up", "Withdrawn"),
    "expired": LevelLook("idle", "clock-off", "Expired"),
    "released": LevelLook("idle", "arrow-back-up", "Given back"),
    "late_commit": LevelLook("bad", "alert-triangle", "Late commit"),
    "stale": LevelLook("wait", "git-branch", "Stale"),
}
ANY_EVENT = LevelLook("idle", "point", "Event")


def level_look(level: str) -> LevelLook:
    """Tone, icon and label of a banner's or finding's level: error, warning, unknown, info, success."""
    return LEVEL_LOOKS[level]


def stage_look(state: str) -> LevelLook:
    """Tone, icon and label of a stage: done, now, todo, failed, stopped."""
    return STAGE_LOOKS[state]


def event_look(kind: str) -> LevelLook:
    """Tone, icon and label of a job's event; an event of a kind without a look of its own is a plain point."""
    return EVENT_LOOKS.get(kind, ANY_EVENT)
