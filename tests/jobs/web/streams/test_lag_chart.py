"""The lag over time: what is kept of each measure, and how it is drawn."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.models import Stream, StreamLag
from jobs.streams import lag, rounds
from jobs.streams.lag import Lag
from jobs.streams.thinning import KEPT_LAGS, thin
from jobs.web.streams.lag_chart import lag_drawing
from tests import factories
from tests.clients import browser
from tests.jobs.web.streams.test_pages import made, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


def kept(stream: Stream, minutes_ago: int, waiting: int | None, **changes: Any) -> StreamLag:
    at = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=minutes_ago)
    return StreamLag.objects.create(stream=stream, at=at, waiting=waiting, **changes)


def test_of_a_minute_the_most_that_waited_is_kept(monkeypatch):
    stream, now = made(), timezone.now()
    monkeypatch.setattr("jobs.streams.lag.timezone.now", lambda: now)
    for waiting in (3, 7, 2):
        lag.note(stream, Lag(waiting, "file", now, exact=waiting != 7))
    lag.note(stream, None)
    (row,) = StreamLag.objects.all()
    assert (row.waiting, row.exact, row.at.second) == (7, False, 0)
    monkeypatch.setattr("jobs.streams.lag.timezone.now", lambda: now + timedelta(minutes=1))
    lag.note(stream, None)
    assert list(StreamLag.objects.order_by("at").values_list("waiting", flat=True)) == [7, None]
    lag.note(stream, Lag(0, "file", None))
    assert list(StreamLag.objects.order_by("at").values_list("waiting", flat=True)) == [7, 0]


def test_each_measure_of_the_dispatcher_is_kept():
    stream = made(state="running")
    rounds._tell_lag(stream, Lag(4, "file", None))
    assert StreamLag.objects.get().waiting == 4
    stream.refresh_from_db()
    assert (stream.lag or {})["waiting"] == 4


def test_measures_go_by_their_age():
    stream = made()
    kept(stream, 5, 1)
    kept(stream, int(KEPT_LAGS / timedelta(minutes=1)) + 5, 1)
    thin()
    assert StreamLag.objects.count() == 1


def test_a_value_holds_until_the_next_and_what_is_unknown_is_a_gap():
    stream = made(state="running")
    for ago, waiting in ((200, 4), (190, 8), (100, 2), (95, None), (90, 0), (80, 0)):
        kept(stream, ago, waiting)
    drawn = lag_drawing(stream)
    assert drawn
    assert len(drawn.line.parts) == 3  # no measure for an hour and a half, and one that told nothing
    first, alone, last = drawn.line.parts
    assert re.fullmatch(r"M56\.0 [\d.]+H[\d.]+V24\.0", first)
    assert alone.endswith("h2")
    assert last.count("H") == 1
    assert drawn.label == "Files that waited over the last 2 hours: 8 at most; unknown where the line has a gap"


def test_the_page_draws_it_with_a_table_that_says_the_same():
    stream = made(state="running")
    page = browser(factories.person_with("viewer"))
    kept(stream, 30, 5)
    assert "Lag over time" not in text_of(page.get(f"/streams/{stream.pk}/"))  # one measure is no line
    kept(stream, 20, 12, exact=False)
    kept(stream, 26 * 60, 777_777)
    answer = page.get(f"/streams/{stream.pk}/")
    text = text_of(answer)
    assert "Files that waited over the last hour: 12 at most" in text
    assert "at least 12" in text
    assert "777,777" not in text
    assert '<path class="line" d="M56.0' in answer.content.decode()


def test_a_stream_of_a_table_waits_in_versions_and_an_hour_without_an_answer_is_unknown():
    stream = made(state="running", source_table=factories.TableFactory())
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for ago, waiting in ((110, 1), (109, 1), (50, None), (0, 0)):
        StreamLag.objects.create(stream=stream, at=hour - timedelta(minutes=ago), waiting=waiting)
    text = text_of(browser(factories.person_with("viewer")).get(f"/streams/{stream.pk}/"))
    assert "Versions that waited over the last 2 hours: 1 at most" in text
    assert "Most versions waiting" in text
    drawn = lag_drawing(stream)
    assert drawn
    assert [row.most for row in drawn.hours] == [0, None, 1]
