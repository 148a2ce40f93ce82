"""Asks each store in a thread of its own: one that says nothing, or a mount that hangs, holds up its own tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from console.base.logs import log
from jobs.streams.looks import Looks, NoAnswer, NoPlace
from tables.storage.place import place_of

M = TypeVar("M", bound=Model)
MOST = 16  # stores that one round asks at once: a thread that hangs keeps its connection to the database
SECONDS = 5.0  # that a round waits for all stores together


class Stores:
    """The stores of one round, each asked by one thread at a time: while that hangs, its store isn't asked again.

    For one thread's use: each round of a dispatcher has its own. Threads begin only where there are rows.
    """

    def __init__(self) -> None:
        self.looks = Looks(MOST, SECONDS)
        self._silent: set[str] = set()

    def ask(self, rows: QuerySet[M], act: Callable[[QuerySet[M], str], int]) -> int:
        """Acts on the rows of each store, given its name, and returns how much was done. `rows` have a `table`.

        A store that takes longer goes on meanwhile, and the round that finds it through counts it. Raises what `act` raises.
        """
        before = self._answers(dict.fromkeys(self._silent, int))  # of looks that have ended since, or nothing
        acts = {store: partial(act, part, store) for store, part in by_store(rows).items()}
        for store, its in acts.items():
            self.looks.begin(store, its)
        return before + self._answers(acts)

    def _answers(self, acts: Mapping[str, Callable[[], int]]) -> int:
        done, silent = 0, set[str]()
        for store, act in acts.items():
            try:
                done += self.looks.answer(store, act)
            except (NoAnswer, NoPlace):
                silent.add(store)
        for store in sorted(silent - self._silent):
            log.warning("store_silent", store=store)
        self._silent = (self._silent - acts.keys()) | silent
        return done


def by_store(rows: QuerySet[M]) -> dict[str, QuerySet[M]]:
    """The rows of each store that their tables lie in: a bucket or name node, as `s3://lake`, or the path of a root on this machine."""
    roots = defaultdict[str, list[Any]](list)
    for pk, uri in rows.order_by().values_list("table__root", "table__root__uri").distinct():
        roots[place_of(uri).prefix or uri].append(pk)
    return {store: rows.filter(table__root__in=roots[store]) for store in sorted(roots)}
