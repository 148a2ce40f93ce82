"""Words in reasons, newest first, in the same time whether ten million reasons have them or five.

The index on words knows no order, and the index on time knows no words: an ever longer window of time is searched until a page is
full, and in each window the database looks words up instead of walking through time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BooleanField, DateTimeField, ExpressionWrapper, F, Func, Q, QuerySet, Value

from console.audit.models import Event
from console.base.pagination import OrderKey, Page, beyond, page

NEWEST = (OrderKey("at", descending=True), OrderKey("id", descending=True))
OLDEST = (OrderKey("at"), OrderKey("id"))
# The same order, spelt so that no index has it: else the database walks back in time past everything without the words.
_SORTED = (OrderKey("when", descending=True), OrderKey("id", descending=True))
FIRST_WINDOW = 2_000  # events
GROWTH = (1, 10, 100, 1_000)


class _Says(Func):
    """Whether a reason has the words; spelt as the index is."""

    template = "to_tsvector('simple', %(expressions)s)"
    arg_joiner = ") @@ websearch_to_tsquery('simple', "
    output_field = BooleanField()


def with_words(events: QuerySet[Event], words: str) -> QuerySet[Event]:
    """The events whose reason has the words, as a search engine takes them: all of them, "a phrase", -without."""
    return events.filter(_Says(F("reason"), Value(words)))


def word_page(events: QuerySet[Event], words: str, limit: int, cursor: str) -> Page[Event]:
    """One page of the events with the words, in the order NEWEST; `events` are narrowed by everything else."""
    nothing = Value(timedelta(0))
    rows: QuerySet[Any] = with_words(events, words).annotate(
        when=ExpressionWrapper(F("at") + nothing, output_field=DateTimeField())
    )
    for span in _spans(events, cursor):
        one_page = page(rows.filter(span.condition), _SORTED, limit, cursor)
        if one_page.next if span.goes_back else one_page.previous:  # there is more: this page is whole
            return one_page
    return page(rows, _SORTED, limit, cursor)


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of time from the cursor's place on, back in time unless a page of newer events is asked for."""

    edge: datetime
    goes_back: bool

    @property
    def condition(self) -> Q:
        return Q(at__gte=self.edge) if self.goes_back else Q(at__lte=self.edge)


def _spans(events: QuerySet[Event], cursor: str) -> Iterator[_Span]:
    """Each longer than the one before; none where there are few events."""
    times = list(beyond(events, NEWEST, cursor, FIRST_WINDOW).values_list("at", flat=True))
    if len(times) <= FIRST_WINDOW:
        return
    for factor in GROWTH:
        with suppress(OverflowError):
            yield _Span(times[0] + (times[-1] - times[0]) * factor, goes_back=times[-1] < times[0])
