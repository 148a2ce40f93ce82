"""Looks at storage that may hang: each runs in a daemon thread, and whoever waits for it waits only so long.

A system call on a share that is away can't be ended from outside: its thread stays until the share answers, and so many stay at most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.pool import AsyncResult, ThreadPool
from typing import Any

from django.db import connections


class NoAnswer(Exception):
    """Storage hasn't answered within the time limit."""


class NoPlace(Exception):
    """As many looks as there may be wait for storage, so this one wasn't taken."""


@dataclass(frozen=True, slots=True)
class _Look:
    began: float
    result: AsyncResult[Any]

    @property
    def is_under_way(self) -> bool:
        return not self.result.ready()


class Looks:
    """`most` looks at once, one for each key; an answer is waited for `seconds` from the look's begin. For one thread's use."""

    def __init__(self, most: int, seconds: float) -> None:
        self.most, self.seconds = most, seconds
        self._looks: dict[Hashable, _Look] = {}

    @cached_property
    def _threads(self) -> ThreadPool:
        """Daemon threads: one that hangs keeps no process from ending."""
        return ThreadPool(self.most)

    def begin(self, key: Hashable, act: Callable[[], Any]) -> None:
        """Begins a look whose answer is taken later. One that is under way goes on; without a place nothing begins."""
        if key not in self._looks and self._under_way() < self.most:
            self._looks[key] = _Look(time.monotonic(), self._threads.apply_async(_taken, [act]))

    def answer(self, key: Hashable, act: Callable[[], Any]) -> Any:
        """What the look that has begun tells, or else one that begins now. Raises NoAnswer, NoPlace, and what `act` raises."""
        self.begin(key, act)
        look = self._looks.get(key)
        if look is None:
            raise NoPlace
        look.result.wait(max(0.0, look.began + self.seconds - time.monotonic()))
        if look.is_under_way:
            raise NoAnswer
        del self._looks[key]
        return look.result.get()

    def forget(self) -> None:
        """Forgets the looks that have ended: their answers grow old."""
        self._looks = {key: look for key, look in self._looks.items() if look.is_under_way}

    def _under_way(self) -> int:
        return sum(look.is_under_way for look in self._looks.values())


def _taken(act: Callable[[], Any]) -> Any:
    try:
        return act()
    finally:
        connections.close_all()  # this thread's
