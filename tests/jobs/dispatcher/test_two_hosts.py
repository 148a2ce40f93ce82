"""Workers of two hosts, each with pids, a network and a name of its own: what the dispatcher can't see dead is never run a second time."""

import os
import shutil
import signal
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

from jobs.lifecycle.fault_points import FaultPoint
from tests.jobs import fake_table, truth
from tests.jobs.instance import Instance, opened
from tests.patience import wait_for

pytestmark = pytest.mark.servers

HOSTS = ("east", "west")
ALONE = ("unshare", "--pid", "--fork", "--mount-proc", "--net", "--uts")


@pytest.fixture(scope="module")
def instance():
    told = subprocess.run([*ALONE, "hostname", HOSTS[0]], capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip(f"this machine lets nobody make namespaces of pids, network and name: {told.stderr.strip()}")
    folder = Path(tempfile.mkdtemp(prefix="levee-hosts-"))
    try:
        with opened(folder) as made:
            made.add_dispatcher()
            for host in HOSTS:
                made.add_worker(f"spark-{host}", around=(*ALONE, "sh", "-c", 'hostname "$0" && exec "$@"', host))
            for host in HOSTS:
                wait_for(partial(is_ready, made, host), "the host's worker is ready", told=made.tail)
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_ready(instance: Instance, host: str) -> bool:
    return bool(instance.rows("select 1 from jobs_worker where host = %s and condition = 'ready'", host))


def host_of(instance: Instance, job: str) -> str:
    """The host that has claimed the job."""
    ((host,),) = instance.rows("select host from jobs_attempt where job_id = %s", job)
    assert host in HOSTS
    return str(host)


def group_of(instance: Instance, host: str) -> int:
    """The worker's processes, as this namespace numbers them."""
    process = instance.parts[f"spark-{host}"].process
    assert process is not None
    return process.pid


def attempts(instance: Instance, job: str) -> list[tuple[str, bool]]:
    """Hosts of the attempts, and whether each began only after every other job on its table had ended."""
    return instance.rows(
        "select a.host, not exists (select from jobs_job o join jobs_job j on j.location = o.location"
        " where j.id = a.job_id and o.id <> j.id and o.requested_at < j.requested_at and o.finished_at > a.claimed_at)"
        " from jobs_attempt a where a.job_id = %s order by a.claimed_at",
        job,
    )


def test_a_frozen_host_is_not_taken_for_dead_and_its_commit_is_found(instance):
    """The next job on that table waits until nobody waits for this one any more. Then the frozen worker goes on, and commits."""
    table = instance.table("frozen")
    instance.arm(FaultPoint.FILES_WRITTEN, {"do": "freeze", "victim": "self"})
    job = instance.ask("append", path=str(table))["job"]
    instance.wait_fired()
    host = host_of(instance, job)
    after = instance.ask("append", path=str(table))["job"]
    assert instance.wait_state(job)["state"] == "stale", instance.story(job)
    instance.wait_state(after, "succeeded")
    assert list(fake_table.marks(table)) == [after]
    os.killpg(group_of(instance, host), signal.SIGCONT)
    wait_for(lambda: instance.job(job)["version"] is not None, "the commit is known", told=lambda: instance.story(job))
    (other,) = set(HOSTS) - {host}
    assert attempts(instance, job) == [(host, True)]
    assert attempts(instance, after) == [(other, True)]
    assert instance.job(job)["state"] == "stale", "who comes back has nothing to say of it any more"
    assert fake_table.rows(table) == 2
    wait_for(
        lambda: truth.mismatches(instance) == [], "job rows and table agree", told=lambda: truth.mismatches(instance)
    )


def test_a_host_that_dies_unseen_leaves_its_job_stale_and_the_other_host_at_work(instance):
    job = instance.ask("append", path=str(instance.table("dead")), seconds=60)["job"]
    instance.wait_state(job, "running")
    host = host_of(instance, job)
    (other,) = set(HOSTS) - {host}
    instance.remove(f"spark-{host}")
    elsewhere = instance.ask("append", path=str(instance.table("alive")))["job"]
    instance.wait_state(elsewhere, "succeeded")
    instance.wait_state(job, "stale")
    assert attempts(instance, job) == [(host, True)], "nobody ran it again"
    assert attempts(instance, elsewhere) == [(other, True)]
    assert fake_table.marks(instance.lake / "dead") == {}
    assert truth.mismatches(instance) == []
