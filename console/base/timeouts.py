"""The timeouts and intervals of jobs, in seconds. `LEVEE_TIMING`, a JSON object, overrides them (tests shorten them)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

from console.base.env import SettingError


@dataclass(frozen=True, slots=True)
class Timing:
    lease: float = 30  # a claim not renewed for this long is lost
    heartbeat: float = 10  # how often a worker renews its lease and writes its row
    watch: float = 0.5  # how often the watch checks a run: progress, cancel, limits
    reconcile: float = 15  # the dispatcher's round over lost claims
    wake: float = 5  # the dispatcher's round over waiting rows
    housekeeping: float = 60  # the dispatcher's round over expired requests and reads
    cancel_grace: float = 60  # a worker that doesn't react to a cancel within this time is killed
    unproven: float = 90  # a job whose worker's death can't be proven (on another host) is stale after this long
    fenced: float = 30  # such a job is tried again after this long where Delta lets only one attempt commit
    unreadable: float = 24 * 3600  # a lost job whose worker is dead waits this long for a log that can't be read
    no_executors: float = 20  # the job reports missing executors after this long
    run_limit: float = 6 * 3600  # of one run of a command
    preview_limit: float = 600
    read_limit: float = 30
    long_read_limit: float = 120  # of a read that looks at whole files, as one that compares the rows of two versions
    read_margin: float = 15  # this long past its limit, the dispatcher gives a read's worker up
    read_kept: float = 600
    hung: float = 40  # a part without a sign of life for this long is killed and replaced
    listen: float = 10  # tasks that ignore a cancel for this long cost Spark its JVM
    record_retry: float = 600  # how long a worker tries to record a finished run
    late_commit: float = 3600  # how long after a lost job's end the dispatcher looks for its commit

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
def of_process() -> Timing:
    """The times that this process started with. Tests replace them here only."""
    return Timing.read()


def timing() -> Timing:
    """This process's times."""
    return of_process()
