"""The page that asks for a reorg: what the log says before, what is refused, the job."""

import html as markup

import pytest

from jobs.models import Job
from tests import factories
from tests.clients import browser


@pytest.fixture
def client(db):
    return browser(factories.person_with("operator"))


def shown(answer):
    return " ".join(markup.unescape(answer.content.decode()).split())


def test_the_page_says_what_delta_would_purge_and_offers_no_rehearsal(client, sales):
    answer = client.get(f"/tables/{sales.pk}/reorg/")
    assert (answer.status_code, answer.context["preview"]["files_in"]) == (200, 1)
    assert "The 2 deleted rows aren’t written again" in shown(answer)
    assert "Rehearse it first" not in shown(answer)
    assert "Delta has nothing to purge" in shown(client.get(f"/tables/{sales.pk}/reorg/", {"predicate": "p = 'DE'"}))


@pytest.mark.parametrize(
    ("given", "said"), [({"predicate": "id = 1", "reason": "r"}, "no partition column"), ({}, "Enter a reason")]
)
def test_what_is_refused_or_missing_is_said_on_the_page(client, sales, given, said):
    answer = client.post(f"/tables/{sales.pk}/reorg/", {**given, "do": "request"})
    assert answer.status_code == 400
    assert said in shown(answer)
    assert not Job.objects.exists()


def test_the_button_makes_the_job_and_its_page_says_what_was_asked(client, sales):
    answer = client.post(f"/tables/{sales.pk}/reorg/", {"predicate": "p='FR'", "reason": "worn", "do": "request"})
    job = Job.objects.get()
    assert (answer.status_code, answer["location"]) == (302, f"/jobs/{job.pk}/")
    assert job.parameters["predicate"] == "p = 'FR'"
    assert "Purge deleted data from the files of sales" in shown(client.get(f"/jobs/{job.pk}/"))
