"""The buttons of the workers' page: each says what it did, each wish can be taken back or is asked about first."""

import pytest

from jobs.models import Worker
from tests import factories
from tests.clients import SURE
from tests.clients import confirmed_browser as browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(redis_server):
    return browser(factories.person_with("admin"))


def test_a_drained_worker_is_told_to_take_jobs_again(client):
    worker = factories.WorkerFactory(name="spark@here")
    drained = client.post(f"/workers/{worker.pk}/drain/", follow=True).content.decode()
    assert "spark@here finishes what it runs and takes no other job." in drained
    assert "Let spark@here take jobs again" in drained
    twice = client.post(f"/workers/{worker.pk}/drain/", follow=True).content.decode()
    assert "takes no other job" in twice, "from a page that was older"
    again = client.post(f"/workers/{worker.pk}/drain/", {"drain": "false"}, follow=True).content.decode()
    assert "spark@here takes jobs again." in again
    assert "Drain spark@here" in again
    assert Worker.objects.get().drain_requested_at is None


def test_a_restart_asks_first_and_says_so_afterwards(client):
    worker = factories.WorkerFactory(name="spark@here")
    asked = client.post(f"/workers/{worker.pk}/restart/").content.decode()
    assert "Restart spark@here" in asked
    assert Worker.objects.get().restart_requested_at is None
    done = client.post(f"/workers/{worker.pk}/restart/", SURE, follow=True).content.decode()
    assert "spark@here restarts as soon as it is idle." in done
    assert Worker.objects.get().restart_requested_at is not None


def test_a_dispatcher_takes_no_jobs_and_has_no_such_buttons(client):
    factories.WorkerFactory(name="spark@here")
    factories.WorkerFactory(name="the dispatcher", kind="dispatcher")
    page = client.get("/workers/").content.decode()
    assert "Drain spark@here" in page
    assert "the dispatcher" in page
    assert "Drain the dispatcher" not in page
