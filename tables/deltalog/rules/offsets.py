"""Offsets from UTC in what writers put into logs."""

from __future__ import annotations

from datetime import UTC, datetime

WHOLE_MINUTES_SINCE = datetime(1972, 1, 12, tzinfo=UTC)
"""No place has had seconds in its offset since Monrovia changed its clocks a few days before (IANA time zone database)."""
