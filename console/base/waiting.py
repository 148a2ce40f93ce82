"""Places for requests that wait. A wait holds a thread that pages need, so few wait at once in a process, and fewer for one person."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class WaitingPlaces:
    """So many requests wait at once, and so many of one person's."""

    def __init__(self, most: int, each: int) -> None:
        self.most, self.each = most, each
        self._taken: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def place(self, person: Hashable) -> Iterator[bool]:
        """True while you hold a place; False when all are taken, then you don't wait at all."""
        there = self._take(person)
        try:
            yield there
        finally:
            if there:
                self._leave(person)

    def _take(self, person: Hashable) -> bool:
        with self._lock:
            there = self._taken.total() < self.most and self._taken[person] < self.each
            if there:
                self._taken[person] += 1
        return there

    def _leave(self, person: Hashable) -> None:
        with self._lock:
            self._taken[person] -= 1
            self._taken += Counter()  # forgets who holds none


# Of the THREADS that a web process has (console.supervisor.command_lines), of which one sender gets MOST_EACH (console.server.turns);
# what these leave is for everything else.
ANSWERS = WaitingPlaces(most=10, each=4)  # of jobs and reads, which `?wait=` and pages wait for
SYNCS = WaitingPlaces(most=5, each=3)  # of a table's log, which an added table is answered with
REBUILDS = WaitingPlaces(most=3, each=3)  # of an older version's layout, one at a time: the others wait for their turn
