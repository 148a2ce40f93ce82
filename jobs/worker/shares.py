"""Shares out the places of one worker: no person and no table holds all of them, however long their answers take."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

Claimed = TypeVar("Claimed")


@dataclass(frozen=True, slots=True)
class ShareHolder:
    """Who holds a place: the person who asked, and the location that the answer is about, if any."""

    person: uuid.UUID
    location: str | None


@dataclass(frozen=True, slots=True)
class Full:
    """The people and the locations that may hold no further place for now."""

    people: list[uuid.UUID]
    locations: list[str]


NOBODY = Full([], [])


class Shares:
    """So many places, of which a person or a location holds all but one; the only one, where there is one. For several threads."""

    def __init__(self, places: int) -> None:
        self.most = max(1, places - 1)
        self._held: Counter[uuid.UUID | str] = Counter()  # by person and by location
        self._lock = threading.Lock()

    @contextmanager
    def place(
        self, claim: Callable[[Full], Claimed | None], holder_of: Callable[[Claimed], ShareHolder]
    ) -> Iterator[Claimed | None]:
        """What `claim` takes without asking for those who are full. It holds its place until the end. Claims go one at a time."""
        with self._lock:
            claimed = claim(self._full())
            held = [] if claimed is None else _names(holder_of(claimed))
            self._held.update(held)
        try:
            yield claimed
        finally:
            with self._lock:
                self._held.subtract(held)
                self._held += Counter()  # forgets who holds none

    def _full(self) -> Full:
        full = [name for name, count in self._held.items() if count >= self.most]
        return Full(
            [name for name in full if isinstance(name, uuid.UUID)], [name for name in full if isinstance(name, str)]
        )


def _names(holder: ShareHolder) -> Iterable[uuid.UUID | str]:
    return [holder.person] if holder.location is None else [holder.person, holder.location]
