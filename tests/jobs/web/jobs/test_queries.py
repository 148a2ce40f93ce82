"""What a job's page says while no worker takes the job, or the cluster gives it nothing."""

import pytest
from django.db.models.functions import Now

from jobs.domain.states import State
from jobs.models import Job, Worker
from jobs.web.jobs import queries
from tests import factories

pytestmark = pytest.mark.django_db
AWAY = "LEVEE_SPARK_MASTER: spark://c:7077 doesn't answer (Connection refused); tried again every 5 s"


def worker(kind: str, condition: str, text: str = "") -> Worker:
    name = f"{kind}-{Worker.objects.count()}@here"
    return Worker.objects.create(
        **{"name": name, "kind": kind, "host": "here", "boot_id": "b", "pid": 7, "start_ticks": 1},
        **{"condition": condition, "text": text, "started_at": Now(), "heartbeat_at": Now()},
    )


@pytest.fixture
def job(orders, olga) -> Job:
    return factories.job_on(orders, olga)


def page_of(job, olga) -> str:
    return str(queries.details(olga, job)["state_text"])


def test_a_waiting_job_names_what_its_workers_wait_for(job, olga):
    worker("interactive", "ready")
    worker("spark", "starting", AWAY)
    assert page_of(job, olga) == f"Waiting for a worker. No worker is ready for it: {AWAY}."


def test_it_names_nothing_when_another_worker_is_ready_or_none_says_why(job, olga):
    worker("spark", "starting")
    assert page_of(job, olga) == "Waiting for a worker."
    worker("spark", "starting", AWAY)
    worker("spark", "ready")
    assert page_of(job, olga) == "Waiting for a worker."


def test_a_preview_waits_for_the_workers_of_previews(job, olga):
    worker("spark", "starting", "another cause")
    worker("interactive", "starting", AWAY)
    job.state = State.PREVIEWING
    assert page_of(job, olga).endswith(f"No worker is ready for it: {AWAY}.")


@pytest.mark.parametrize("state", [State.RUNNING, State.PREVIEWING])
def test_what_the_cluster_does_not_give_is_the_state_while_it_works(job, olga, state):
    job.state, job.progress = (
        state,
        {"stage": "waiting for executors", "waiting": "Waiting for executors: the cluster."},
    )
    assert queries.state_sentence(job) == "Waiting for executors: the cluster."
    job.state = State.CANCELLED
    assert queries.state_sentence(job) == "Cancelled."
