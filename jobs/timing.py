"""The times that jobs are kept by, in seconds. Settings: `LEVEE_TIMING` holds a JSON object with other values (tests shorten them)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

from console.env import SettingError


@dataclass(frozen=True, slots=True)
class Timing:
    lease: float = 30  # a claim not renewed for so long is lost
    heartbeat: float = 10  # how often a worker renews its lease and says that it lives
    watch: float = 0.5  # how often a run is looked at: progress, cancel, limits
    reconcile: float = 15  # the dispatcher's round over lost claims
    wake: float = 5  # the dispatcher's round over rows that wait
    housekeeping: float = 60  # expiry, reads past their time
    cancel_grace: float = 60  # a worker that doesn't react to a cancel for so long is ended
    unproven: float = 90  # on another host death can't be proven: stale after so long
    no_executors: float = 30  # said in the job after so long
    run_limit: float = 6 * 3600  # of one run of a command
    preview_limit: float = 600
    read_limit: float = 30
    read_margin: float = 15  # past its limit a read's worker is given up
    read_kept: float = 600
    record_retry: float = 600  # how long a finished run tries to be recorded
    late_commit: float = 3600  # how long after its end a lost job's mark is looked for

    @classmethod
    def read(cls, values: Mapping[str, str] = os.environ) -> Timing:
        """The defaults, overridden by LEVEE_TIMING. Raises SettingError."""
        text = values.get("LEVEE_TIMING")
        if not text:
            return cls()
        known = {f.name for f in fields(cls)}
        try:
            given = json.loads(text)
            wrong = [k for k, v in given.items() if k not in known or not isinstance(v, int | float) or v <= 0]
        except (ValueError, AttributeError):
            raise SettingError("LEVEE_TIMING", "must be a JSON object of seconds") from None
        if wrong:
            raise SettingError("LEVEE_TIMING", f"{', '.join(wrong)}: unknown, or no positive number")
        return cls(**given)


@cache
def timing() -> Timing:
    """This process's times."""
    return Timing.read()
