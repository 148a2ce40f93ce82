"""Whose request is worked on next. One sender's requests take only so many threads at once; the rest wait for their turn."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")

MOST_EACH = 6  # of the THREADS of a web process; console.base.waiting says how many of them may wait for an answer
MOST_KNOWN = 10_000  # credentials whose person is remembered


class RequestTurns(Generic[Item]):
    """Requests at work and in line, by sender. Not for several threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._at_work: Counter[Hashable] = Counter()
        self._line: defaultdict[Hashable, deque[Item]] = defaultdict(deque)

    def begins(self, sender: Hashable, item: Item) -> bool:
        """Whether the request may begin now; if not, `ends` gives it back in its turn."""
        if self._at_work[sender] < self.most:
            self._at_work[sender] += 1
            return True
        self._line[sender].append(item)
        return False

    def ends(self, sender: Hashable) -> Item | None:
        """One of the sender's requests is answered. The next one in line, which begins now; None without one."""
        if self._line[sender]:
            return self._line[sender].popleft()
        del self._line[sender]
        self._at_work[sender] -= 1
        if not self._at_work[sender]:
            del self._at_work[sender]
        return None


class Senders:
    """Who sends with a credential: the person, once a request with it was let in, so that ten tokens of one person count as one."""

    def __init__(self, most: int = MOST_KNOWN) -> None:
        self.most = most
        self._people: OrderedDict[bytes, Hashable] = OrderedDict()
        self._lock = Lock()

    def learn(self, credential: bytes, person: Hashable) -> None:
        """Remembers whose credential it is; the oldest makes room."""
        with self._lock:
            self._people[credential] = person
            self._people.move_to_end(credential)
            if len(self._people) > self.most:
                self._people.popitem(last=False)

    def of(self, credential: bytes) -> Hashable:
        """The person; the credential itself as long as nobody is known to send it."""
        return self._people.get(credential, credential)


SENDERS = Senders()
