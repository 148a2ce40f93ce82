"""The page that asks for an optimize: what the log says before, what is refused, the job."""

import html as markup
from datetime import UTC, datetime, timedelta

import pytest

from jobs.models import Job
from tests import factories
from tests.clients import browser


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_the_page_says_what_delta_would_join(client, sales):
    answer = client.get(f"/tables/{sales.pk}/optimize/")
    assert answer.status_code == 200
    preview = answer.context["preview"]
    assert (preview["files_in"], preview["files_out"], preview["files_total"]) == (3, 1, 4)
    assert "Needs no approval" in shown(answer)


def test_the_time_is_taken_from_the_table_s_own_past(client, sales):
    assert "run on this table" not in shown(client.get(f"/tables/{sales.pk}/optimize/"))
    ended = datetime(2026, 11, 1, 12, 0, 42, tzinfo=UTC)
    size = client.get(f"/tables/{sales.pk}/optimize/").context["preview"]["bytes_in"]
    metrics = {"operation_metrics": {"numRemovedBytes": str(size)}}
    began = ended - timedelta(seconds=42)
    factories.job("succeeded", table=sales, command="optimize", claimed_at=began, finished_at=ended, result=metrics)
    assert "about 42 s, by 1 run on this table" in shown(client.get(f"/tables/{sales.pk}/optimize/"))


def test_a_condition_on_partitions_narrows_it_and_nothing_is_said_as_nothing(client, sales):
    answer = client.get(f"/tables/{sales.pk}/optimize/", {"predicate": "p = 'DE'"})
    assert "Delta has nothing to join and commits nothing" in shown(answer)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"predicate": "id = 1"}, "no partition column"),
        ({"predicate": "nope = 1"}, "nope"),
        ({"zorder_by": "p"}, "p is a partition column"),
        ({"zorder_by": "id, nope"}, "no column nope"),
    ],
)
def test_what_delta_refuses_is_said_on_the_page(client, sales, given, said):
    answer = client.post(f"/tables/{sales.pk}/optimize/", {**given, "reason": "r", "do": "request"})
    assert answer.status_code == 400
    assert said in shown(answer)
    assert not Job.objects.exists()


def test_a_request_needs_a_reason(client, sales):
    answer = client.post(f"/tables/{sales.pk}/optimize/", {"do": "request", "reason": " "})
    assert answer.status_code == 400
    assert "Enter a reason" in shown(answer)
    assert not Job.objects.exists()


def test_the_button_makes_the_job_and_its_page_leads_back_with_the_same_values(client, sales):
    given = {"predicate": "p='FR'", "zorder_by": "id", "reason": "sorted by id", "do": "request"}
    answer = client.post(f"/tables/{sales.pk}/optimize/", given)
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert (job.parameters["predicate"], job.parameters["zorder_by"]) == ("p = 'FR'", ["id"])
    assert "Optimize the files of sales by id" in shown(client.get(f"/jobs/{job.pk}/"))


def test_a_viewer_may_not(sales):
    assert browser(factories.person_with("viewer")).get(f"/tables/{sales.pk}/optimize/").status_code == 403
