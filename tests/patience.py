"""How long a test waits before it gives up: what that takes on a quiet machine, times how busy this one is.

A test names what it waits for and the quiet time; the rest is decided here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

LEAST, MOST = 4.0, 20.0
IN_CI = 1.5  # a runner's cores are shared with others, whose load isn't seen here
USUAL_S = 45.0  # any one step of an instance, the start of its processes among them


class InVain(AssertionError):
    """What was waited for didn't come."""


def busy() -> float:
    """How much more there is to do than the machine can do at once: 1 when it's quiet."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(1.0, load, IN_CI if os.environ.get("CI") else 1.0)


def factor() -> float:
    """How many times longer than on a quiet machine a test waits now."""
    return min(MOST, LEAST * busy())


def stretch() -> float:
    """By how much leases and other times of what is tested grow here: nothing on a quiet machine."""
    return factor() / LEAST


def limit(quiet_s: float) -> float:
    """The seconds to allow for what takes so long on a quiet machine."""
    return quiet_s * factor()


def limit_ms(quiet_s: float) -> float:
    """The same for a browser, which counts in milliseconds."""
    return 1000 * limit(quiet_s)


def wait_for(
    look: Callable[[], Any],
    what: str,
    quiet_s: float = USUAL_S,
    told: Callable[[], object] = lambda: "",
    every_s: float = 0.04,
) -> Any:
    """What the look gives once it is true; the last one is after the limit. Raises InVain, which says what `told()` says as well."""
    began, allowed = time.monotonic(), 0.0
    while True:
        allowed = max(allowed, limit(quiet_s))  # what a busy minute has granted, a quiet one doesn't take back
        is_last = time.monotonic() - began > allowed
        if found := look():
            return found
        if is_last:
            waited = f"waited {time.monotonic() - began:.0f} s in vain until {what}"
            raise InVain(f"{waited}, which takes {quiet_s:g} s on a quiet machine; {_load()}: {told()}")
        time.sleep(every_s)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
