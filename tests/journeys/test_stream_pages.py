"""The pages of streams in a real browser: both themes, wide and narrow, under the product's own policy; and one click that starts one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page

from jobs.models import Job, Stream
from jobs.streams import acts, runs
from tests.jobs.streams.conftest import actor, asked, counted, landing, olga, root, sales
from tests.jobs.web.streams.test_pages import batch, made, opened
from tests.journeys.looks import sign_in, troubles_of

__all__ = ["actor", "asked", "counted", "landing", "olga", "root", "sales"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_server")]
ERROR = {
    "code": "engine_failed", "message": "A schema mismatch detected when writing to the Delta table.",
    "engine": {"condition": "DELTA_METADATA_MISMATCH", "sqlstate": "42KDG", "message": "…"},
    "table_state": "Nothing was committed.", "what_to_do": "Fix what the message names, then request it again.",
}  # fmt: skip


@pytest.fixture
def streams(actor: Any, asked: dict[str, Any], counted: dict[str, Any]) -> dict[str, Any]:
    """One that runs with a past, one that failed, one that waits for its approval, one that nobody has started."""
    oldest = (timezone.now() - timedelta(minutes=4)).isoformat()
    lag = {"waiting": 3, "unit": "file", "oldest": oldest, "exact": True, "too_old": 2}
    running = made(
        name="pageviews-ingest", state="running", lag=lag, lag_at=timezone.now(), query_id="0d8f1b62", rounds=9
    )
    for number in range(60):
        batch(running, number, took_ms=9_000 + 400 * number, skipped=number == 30)
    opened(running, "running", number=9, attempt=1, token=1)
    failed = made(name="sensors-ingest", state="failed", error=ERROR, state_text=ERROR["message"], rounds=2)
    batch(failed, 0)
    fresh = acts.create(actor, "clicks-ingest", "clicks of the shop", asked)
    replacing = acts.create(actor, "sums", "sums by p", counted)
    job = runs.start(actor, replacing)
    ids = {"running": running.pk, "failed": failed.pk, "fresh": fresh.pk, "replacing": replacing.pk, "job": job.pk}
    return {name: str(pk) for name, pk in ids.items()}


PAGES = (
    "/",
    "/streams/",
    "/streams/{running}/",
    "/streams/{failed}/",
    "/streams/{replacing}/",
    "/streams/{fresh}/",
    "/streams/{fresh}/edit/",
    "/streams/{fresh}/reset/",
    "/streams/new/",
    "/jobs/{job}/",
    "/tables/?q=clicks",
)


def test_the_pages_of_streams_are_clean_in_both_themes_and_at_both_widths(
    server: str,
    streams: dict[str, Any],
    actor: Any,
    context: BrowserContext,
    faults: list[str],
    axe_findings: Callable[[Page], list[str]],
) -> None:
    addresses = [address.format(**streams) for address in PAGES]
    assert troubles_of(context, server, actor.person, addresses, axe_findings) == []
    assert faults == []


def test_one_click_starts_a_stream(
    server: str, streams: dict[str, Any], actor: Any, context: BrowserContext, faults: list[str]
) -> None:
    sign_in(context, server, actor.person, "light")
    page = context.new_page()
    page.goto(f"{server}/streams/")
    page.get_by_role("link", name="clicks-ingest").click()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Stop").wait_for()
    assert Stream.objects.get(pk=streams["fresh"]).state == "running"
    assert Job.objects.get(stream_round__stream=streams["fresh"]).state == "queued"
    assert faults == []
