"""Signs of life: they reveal a program that runs but no longer works, which the supervisor then ends and replaces.

A sign is asked for in a thread of its own, since what doesn't work may not even answer; the supervisor's thread looks at the clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from console.base.processes import is_stopped

Sign = Callable[[int], bool | None]
"""Asked with the program's pid: True when it works, False when it doesn't, None when that can't be known now."""


class Ear:
    """Listens to one process of a program from its first answer to its end."""

    def __init__(self, pid: int, sign: Sign, every: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pid, self._sign, self._every, self._clock = pid, sign, every, clock
        self._heard = clock()
        self._over = threading.Event()
        threading.Thread(target=self._listen, name=f"sign-{pid}", daemon=True).start()

    def silence(self) -> float:
        """Seconds since the last sign, or since it couldn't be known."""
        return self._clock() - self._heard

    def forgive(self) -> None:
        """Begins anew: what was to blame for the silence is another program."""
        self._heard = self._clock()

    def close(self) -> None:
        """Asks no more."""
        self._over.set()

    def _listen(self) -> None:
        while not self._over.wait(self._every):
            if not is_stopped(self._pid) and self._sign(self._pid) is not False:
                self._heard = self._clock()
