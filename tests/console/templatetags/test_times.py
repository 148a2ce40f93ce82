from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from console.templatetags.formatting import times

NOW = datetime(2026, 11, 20, 22, 8, 36, tzinfo=UTC)


@pytest.fixture
def _frozen(monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


@pytest.mark.usefixtures("_frozen")
@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=4), "4 s ago"),
        (timedelta(minutes=40), "40 min ago"),
        (timedelta(hours=15), "15 h ago"),
        (timedelta(hours=30), "yesterday"),
        (timedelta(days=4), "4 days ago"),
        (timedelta(days=60), "21 Sep"),
        (timedelta(days=700), "20 Dec 2024"),
        (timedelta(hours=-21), "in 21 h"),
        (timedelta(hours=-25), "tomorrow"),
        (timedelta(days=-6), "in 6 days"),
    ],
)
def test_a_time_is_relative_in_the_text(distance, text):
    assert times.ago(NOW - distance).endswith(f">{text}</time>")


@pytest.mark.usefixtures("_frozen")
def test_a_time_is_exact_in_utc_on_hover_and_in_data():
    element = times.ago(datetime.fromisoformat("2026-11-20T23:06:02.123456+01:00"))
    assert (
        element
        == '<time datetime="2026-11-20T22:06:02Z" title="2026-11-20 22:06:02 UTC" data-relative="ago">2 min ago</time>'
    )


@pytest.mark.usefixtures("_frozen")
def test_times_are_read_from_stored_json_too():
    assert times.clock("2026-11-20T22:06:02Z").endswith(">22:06:02</time>")
    assert times.exact("2026-11-20T22:06:02").endswith(">2026-11-20 22:06:02 UTC</time>")
    assert times.since("2026-11-20T22:06:02+00:00").endswith(">2 min 34 s</time>")


def test_a_text_that_is_no_time_is_an_error():
    with pytest.raises(ValueError, match="not a time"):
        times.ago("soon")


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(70, 61, 1), (None, 61, 1), (130, 61, 2), (3 * 86_400, 86_400, 2)],
)
def test_a_span_of_times_says_what_reads_alike_once(first, last, said):
    now = timezone.now()
    ends = [None if ago is None else now - timedelta(seconds=ago) for ago in (first, last)]
    found = times.ago_between(*ends)
    assert found.count("<time") == said
    assert found.count(" – ") == said - 1


@pytest.mark.usefixtures("_frozen")
@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (timedelta(days=7) - timedelta(seconds=1), "in 7 days"),
        (timedelta(days=6, seconds=1), "in 7 days"),
        (timedelta(days=2), "in 2 days"),
        (timedelta(hours=40), "in 2 days"),
        (timedelta(hours=23, minutes=30), "tomorrow"),
        (timedelta(hours=1, seconds=1), "in 2 h"),
        (timedelta(minutes=59, seconds=30), "in 1 h"),
        (timedelta(seconds=59.5), "in 1 min"),
        (timedelta(seconds=13.2), "in 14 s"),
        (timedelta(days=31), "21 Dec"),
    ],
)
def test_a_time_to_come_is_rounded_up(ahead, text):
    assert times.ago(NOW + ahead).endswith(f">{text}</time>")


def test_what_grows_old_is_marked_for_the_script_that_tells_it_anew():
    assert ' data-relative="ago">' in times.ago(NOW)
    assert ' data-relative="since">' in times.since(NOW)
    for fixed in (times.exact, times.clock, times.day_and_clock):
        assert "data-relative" not in fixed(NOW)
