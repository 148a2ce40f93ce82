"""How much the machinery of jobs costs: `python -m tests.bench.jobs` (`--tiny` for a run that only proves that it runs, `--cluster` for
a worker on a Spark cluster).

One warm Spark worker, 100 small tables; rival claims; the page's poll; processes that have nothing to do.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.engine.config import Cluster
from tests.bench import cluster
from tests.bench.document import DOCUMENT, figures_of, put_into, table
from tests.cluster.asked import settings_on
from tests.jobs.instance import Instance, opened
from tests.patience import wait_for

TITLE, ON_CLUSTER = "## Jobs", "## Jobs on a cluster"
START_S = 75.0
RIVALS = 16


@dataclass(frozen=True)
class Size:
    jobs: int
    rounds: int
    polls: int
    idle_s: float


FULL, TINY = Size(100, 60, 200, 60.0), Size(4, 3, 5, 2.0)


@dataclass(frozen=True)
class Figure:
    """One line of the table: what, measured, the bar, the unit."""

    what: str
    value: float
    bar: float
    unit: str

    @property
    def row(self) -> tuple[str, str, str]:
        return self.what, f"{self.value:.1f} {self.unit}", f"≤ {self.bar:g} {self.unit}"


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def queued_jobs(instance: Instance, size: Size) -> list[Figure]:
    """Jobs that wait for one worker: what lies between two engine calls; and a job that comes to an idle one."""
    warm = instance.ask("append", path=str(instance.table("warm")))["job"]
    instance.wait_state(warm, quiet_s=START_S)
    paths = [str(instance.table(f"t{n}")) for n in range(size.jobs)]
    instance.ask("append_many", paths=paths)
    open_jobs = "select count(*) from jobs_job where finished_at is null"
    wait_for(lambda: instance.rows(open_jobs) == [(0,)], "every job has ended", START_S + size.jobs * 1.25)
    rows = instance.rows("select id::text, finished_at from jobs_job where id <> %s order by finished_at", warm)
    engine = dict(map(json.loads, (instance.faults / "engine.times").read_text().splitlines()))
    gaps = [(b[1] - a[1]).total_seconds() - engine[b[0]] for a, b in itertools.pairwise(rows)]
    return [
        Figure(f"overhead per job over the engine's call, {size.jobs} queued jobs, p95", 1000 * p95(gaps), 150, "ms")
    ]


def idle_start(instance: Instance, size: Size) -> list[Figure]:
    waits = []
    path = str(instance.table("idle"))
    for _ in range(max(3, size.jobs // 4)):
        job = instance.ask("append", path=path)["job"]
        instance.wait_state(job, quiet_s=START_S)
        waited = "select extract(epoch from claimed_at - queued_at) from jobs_job where id = %s"
        waits.append(float(instance.rows(waited, job)[0][0]))
    return [Figure("queued → running on a warm idle worker, p95", 1000 * p95(waits), 300, "ms")]


def rival_claims(size: Size) -> list[Figure]:
    """Sixteen processes ask at the same moment for the one job that waits; each is timed."""
    from django.db import connections

    from jobs.domain.states import Cause, State
    from jobs.lifecycle.transitions import move
    from jobs.models import Attempt, Job
    from tests import factories
    from tests.jobs import append
    from tests.jobs.requester import person, table

    append.register()
    at, who = table(str(Path(os.environ["LEVEE_BENCH_LAKE"]) / "rivals")), person()
    connections.close_all()  # a forked process must not share one
    processes = multiprocessing.get_context("fork")
    start, done = processes.Barrier(RIVALS + 1), processes.Barrier(RIVALS + 1)
    took = processes.SimpleQueue()
    rivals = [processes.Process(target=_rival, args=(size.rounds, start, done, took)) for _ in range(RIVALS)]
    for rival in rivals:
        rival.start()
    times: list[float] = []
    for _ in range(size.rounds):
        job = factories.queued_on(at, who)
        start.wait()
        times += [took.get() for _ in range(RIVALS)]
        done.wait()
        (attempt,) = Attempt.objects.filter(job=job)  # one winner
        error = {"code": "bench", "message": "bench"}
        move(job, State.FAILED, Cause.WORKER, "bench", token=attempt.token, error=error)
    for rival in rivals:
        rival.join()
    assert Job.objects.filter(state=State.RUNNING).count() == 0
    return [Figure(f"claim under {RIVALS} rivals, one winner, p95", 1000 * p95(times), 20, "ms")]


def _rival(rounds: int, start: Any, done: Any, took: Any) -> None:
    from django.db import connection

    from jobs.worker.claims import claim_run
    from tests import factories

    connection.ensure_connection()
    for _ in range(rounds):
        start.wait()
        began = time.perf_counter()
        claim_run(factories.holder())
        took.put(time.perf_counter() - began)
        done.wait()
    connection.close()


def page_poll(size: Size) -> list[Figure]:
    """The fragment that a job's page asks for while it runs: the server's own time."""
    from django.test import Client
    from django.urls import reverse

    from jobs.models import Job
    from tests.jobs.requester import person

    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(person())
    url = reverse("jobs:live", args=[Job.objects.filter(state="succeeded")[0].pk])
    times = []
    for _ in range(size.polls + 1):
        began = time.perf_counter()
        answer = client.get(url, HTTP_HX_REQUEST="true")
        times.append(time.perf_counter() - began)
        assert answer.status_code in {200, 286}, answer.status_code
    return [Figure("poll of a job's page, server time, p95", 1000 * p95(times[1:]), 15, "ms")]


def idle_cost(instance: Instance, size: Size) -> list[Figure]:
    """Processor time of dispatcher and the worker's claiming process, with the times as they are shipped."""
    process = instance.parts["dispatcher"].process
    assert process is not None
    pids = [process.pid, instance.victims()["child"]]
    before = sum(map(_ticks, pids))
    time.sleep(size.idle_s)
    used = (sum(map(_ticks, pids)) - before) / os.sysconf("SC_CLK_TCK")
    return [Figure("heartbeat and dispatcher, idle, of one core", 100 * used / size.idle_s, 1, "%")]


def _ticks(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat[stat.rindex(")") + 2 :].split()
    return int(fields[11]) + int(fields[12])


def measure(size: Size, engine: str = "spark", on: Cluster | None = None) -> list[Figure]:
    folder = Path(tempfile.mkdtemp(prefix="levee-bench-"))
    try:
        with opened(folder, {"watch": 0.5}, engine=engine) as instance:
            instance.add_dispatcher()
            instance.add_worker(LEVEE_TEST_TIMES="1", **(settings_on(on) if on else {}))
            instance.wait_ready(quiet_s=START_S)
            found = queued_jobs(instance, size) + idle_start(instance, size)
            found += idle_cost(instance, size)
            for name in ("spark", "dispatcher"):
                instance.remove(name)
            return found + _in_this_process(instance, size)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_this_process(instance: Instance, size: Size) -> list[Figure]:
    """Django, set up for the instance's home."""
    os.environ |= {
        "LEVEE_HOME": str(instance.home.path),
        "LEVEE_BENCH_LAKE": str(instance.lake),
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    import django

    django.setup()
    return rival_claims(size) + page_poll(size)


def report(figures: list[Figure], embedded: dict[str, list[str]] | None = None) -> str:
    """The section of the document; with the `embedded` figures that of a cluster."""
    title, option, where = (TITLE, "", "") if embedded is None else (ON_CLUSTER, " --cluster", f" {cluster.ON},")
    how = f"`python -m tests.bench.jobs{option}`, one warm Spark worker{where} on 2 processors."
    return f"{title}\n\n{how}\n\n{table([figure.row for figure in figures], embedded)}\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--tiny", action="store_true", help="a run that only proves that it runs, without a JVM unless on a cluster"
    )
    arguments.add_argument(
        "--fake", action="store_true", help="full size with a small process in the JVM's place; not kept"
    )
    cluster.add_argument(arguments)
    given = arguments.parse_args()
    tiny = given.tiny
    with cluster.running(given.cluster) as on:
        figures = measure(TINY if tiny else FULL, "fake" if (tiny and not on) or given.fake else "spark", on)
    section = report(figures, figures_of(DOCUMENT, TITLE) if on else None)
    print(section)
    if not tiny and not given.fake:
        put_into(DOCUMENT, section, beside=TITLE if on else "")
    if not tiny and any(figure.value > figure.bar for figure in figures):
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
