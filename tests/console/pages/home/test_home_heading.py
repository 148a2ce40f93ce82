"""The heading of home says the worst that is open, else the next thing, else what runs."""

import pytest

from console.pages.home.heading import JobCounts, heading_of
from tables.rules.health_findings import ERRORS
from tests import factories
from tests.clients import browser

EVERYTHING = JobCounts(
    failed_streams=1, stopped_schedules=2, unexplained=3, waiting=4, stale=5, warnings=6, tables=7,
    jobs={"reconciling": 1, "running": 1, "queued": 2},
)  # fmt: skip


@pytest.mark.parametrize(
    ("counts", "heading"),
    [
        (EVERYTHING, "One job ended without a known outcome"),
        (JobCounts(failed_streams=1, waiting=2, jobs={"running": 1}, tables=9), "One stream failed"),
        (JobCounts(stopped_schedules=2, waiting=1), "Two schedules stopped"),
        (JobCounts(has_role=False), "You have no role yet"),
        (JobCounts(unexplained=12, waiting=1), "12 commits to acknowledge"),
        (JobCounts(waiting=1, jobs={"running": 3}), "One decision waits for you"),
        (JobCounts(waiting=2), "Two decisions wait for you"),
        (
            JobCounts(stale=1, jobs={"running": 3}, tables=2),
            "Three jobs are running",
        ),  # one that is new was never in sync
        (JobCounts(warnings=1, jobs={"running": 3}, tables=2), "Three jobs are running"),
        (JobCounts(errors=2, warnings=3, notices=1, waiting=1, tables=4), "Two tables have errors"),
        (JobCounts(notices=1, waiting=3, tables=4), "One change of roles and rules to acknowledge"),
        (JobCounts(stale=1, warnings=3, tables=2), "One table is not in sync"),
        (JobCounts(jobs={"queued": 2}, tables=1), "Two jobs are queued"),
        (JobCounts(jobs={"previewing": 1}, tables=1), "One job is queued"),
        (JobCounts(jobs={"running": 1, "queued": 2}, tables=1), "One job is running, two are queued"),
        (JobCounts(jobs={"running": 1, "cancelling": 1, "queued": 1}), "Two jobs are running, one is queued"),
        (JobCounts(warnings=3, tables=4), "Three tables have warnings"),
        (JobCounts(tables=4), "Nothing needs you"),
        (JobCounts(), "No tables yet"),
    ],
)
def test_what_leads(counts, heading):
    assert heading_of(counts) == heading


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("states", "heading"),
    [(("queued", "queued"), "Two jobs are queued"), (("running", "queued"), "One job is running, one is queued")],
)
def test_a_queued_job_does_not_run(states, heading, redis_server):
    table = factories.TableFactory(name="orders", version=3)
    for number, state in enumerate(states):
        factories.job(state, table=table, parameters={"n": number})
    page = browser(factories.person_with("viewer")).get("/").content.decode()
    assert page.count(heading) == 1, "it heads the page, and no list on it"
    assert f"<h1>{heading}</h1>" in page


@pytest.mark.django_db
def test_a_failed_stream_comes_before_all_that_goes_well(redis_server):
    table = factories.TableFactory(name="orders", version=3)
    factories.job("running", table=table)
    factories.stream(table, state="failed", error={"code": "engine_failed"})
    assert "<h1>One stream failed</h1>" in browser(factories.person_with("viewer")).get("/").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("code", "heading"), [("files_missing", "One table has errors"), ("small_files", "Two tables are not in sync")]
)
def test_an_error_of_a_table_is_no_warning_and_leads_to_its_list(code, heading, redis_server):
    factories.TableFactory(name="orders", version=3, health_codes=[code])
    factories.TableFactory(name="sound", version=3)
    reader = browser(factories.person_with("viewer"))
    page = reader.get("/").content.decode()
    assert f"<h1>{heading}</h1>" in page
    assert ('id="see-errors"' in page) is (code in ERRORS)
    listed = reader.get("/tables/?health=error").content.decode()
    assert ("orders" in listed, "sound" in listed) == (code in ERRORS, False)
