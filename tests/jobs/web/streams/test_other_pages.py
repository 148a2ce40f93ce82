"""Streams on pages that aren't theirs: home, the search, a table's overview, and the lists of jobs with their rounds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from console.accounts.models import Person
from jobs.domain.results import Result
from jobs.models import Stream
from tests import factories
from tests.clients import Caller, browser
from tests.jobs.web.streams.test_pages import made, opened, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]


@pytest.fixture
def vera(db: None) -> Person:
    return factories.person_with("viewer")


def _two_rounds() -> tuple[str, str]:
    """The jobs of a folded round and of the newest one."""
    stream, ended = made(state="running", rounds=2), timezone.now() - timedelta(minutes=1)
    past, newest = (
        opened(
            stream, "succeeded", number=number, booked=True, finished_at=ended, version=number, folded=number == 1,
            result=Result(number, "STREAMING UPDATE").as_json(),
        )
        for number in (1, 2)
    )  # fmt: skip
    return str(past.job_id), str(newest.job_id)


def test_the_list_of_jobs_folds_past_rounds_unless_you_ask_for_them(vera):
    past, newest = _two_rounds()

    def listed(**asked: str) -> list[str]:
        return [job["id"] for job in Caller(vera).get("/jobs", **asked).json()["results"]]

    assert listed() == [newest]
    assert set(listed(command="stream_round")) == {past, newest}
    page = browser(vera).get("/jobs/").content.decode()
    assert f"/jobs/{newest}/" in page
    assert f"/jobs/{past}/" not in page


def test_home_folds_past_rounds(vera):
    past, newest = _two_rounds()
    page = browser(vera).get("/").content.decode()
    assert f"/jobs/{newest}/" in page
    assert f"/jobs/{past}/" not in page


def test_home_shows_the_streams_that_failed_or_run_and_failed_ones_first(vera):
    running = made(name="a-running", state="running", rounds=1)
    failed = made(name="b-failed", state="failed", state_text="The schemas differ.", error={"code": "x"}, rounds=1)
    stopped = made(name="c-stopped", rounds=1)
    answer = browser(vera).get("/")
    page = answer.content.decode()
    assert 0 < page.index(f'href="/streams/{failed.pk}/"') < page.index(f'href="/streams/{running.pk}/"')
    assert f"/streams/{stopped.pk}/" not in page
    assert "The schemas differ." in text_of(answer)


def test_home_hides_streams_into_tables_that_you_may_not_see():
    seen, unseen = made(state="running", rounds=1), made(state="running", rounds=1)
    page = browser(factories.person_with("viewer", table=seen.table)).get("/").content.decode()
    assert f"/streams/{seen.pk}/" in page
    assert f"/streams/{unseen.pk}/" not in page


@pytest.mark.parametrize("asked", ["nightly", "lake/landing"])
def test_the_search_finds_streams_by_name_and_source(vera, asked):
    stream, other = made(name="nightly-clicks"), made(name="else")
    Stream.objects.filter(pk=other.pk).update(definition={**other.definition, "source": {"path": "/away"}})
    page = browser(vera).get("/tables/", {"q": asked}).content.decode()
    assert f'href="/streams/{stream.pk}/"' in page
    assert f"/streams/{other.pk}/" not in page
    assert f"/streams/{stream.pk}/" not in browser(vera).get("/tables/").content.decode()


def test_the_search_finds_no_stream_into_a_table_that_you_may_not_see():
    seen, unseen = made(name="nightly-a"), made(name="nightly-b")
    client: Any = browser(factories.person_with("viewer", table=seen.table))
    page = client.get("/tables/", {"q": "nightly"}).content.decode()
    assert f"/streams/{seen.pk}/" in page
    assert f"/streams/{unseen.pk}/" not in page


def test_a_tables_overview_shows_the_streams_into_it_and_out_of_it(vera):
    table = factories.TableFactory(version=7)
    into, out, other = made(name="inbound", table=table), made(name="outbound", source_table=table), made(name="else")
    text = text_of(browser(vera).get(f"/tables/{table.pk}/"))
    assert "Streams by Levee inbound" in text
    assert f"writes here, from {into.definition['source']['path']}" in text
    assert f"reads this table, into {out.table.name}" in text
    assert other.name not in text
