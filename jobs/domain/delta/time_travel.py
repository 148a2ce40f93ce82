"""Delta's refusal of a time that no version has: it answers none after the newest commit, since the next commit could change the answer."""

from __future__ import annotations

from datetime import UTC, datetime

from jobs.domain.errors import EngineFailure

TOO_LATE = "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"


def too_late(asked: datetime, newest: datetime, table: str) -> EngineFailure:
    """As Delta says it (`DeltaErrors.timestampGreaterThanLatestCommit`), with its times in UTC."""
    text = (
        f"The provided timestamp ({_text(asked)}) is after the latest version available to this table ({table})."
        f" Please use a timestamp before or at {_text(newest)}."
    )
    return EngineFailure(TOO_LATE, "42816", text)


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"
