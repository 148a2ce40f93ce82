"""The benches of streams' rounds, pages and stops run and measure what they say; full size with LEVEE_BENCH_SIZE=full."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.commands.stream_round.rules import StreamRound
from jobs.dispatcher import streams as dispatcher
from jobs.dispatcher.rounds import STREAMS_LOOK
from jobs.domain.states import Cause, State
from jobs.lifecycle.transitions import move
from jobs.models import Job, Stream, StreamBatch
from jobs.models import StreamRound as Round
from tests import factories
from tests.bench import streams
from tests.bench.document import put_into
from tests.clients import browser
from tests.patience import wait_for

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"
PAST, LOOKS = (1_000_000, 40) if FULL else (2_000, 2)
ROUNDS = 20
STOPS, STOP_BAR_S = (20 if FULL else 2), 5.0
STOPS_TITLE = "## Stopping a stream"
TITLE = "## Pages of a stream with a long past"
FILL = """
insert into jobs_streambatch (stream_id, query_id, run_id, batch_id, version, output_mode, at, skipped, input_rows, rows_out, files_added,
    files_removed, bytes_added, took_ms, durations, input_rate, processed_rate)
select %s, 'q', 'r', n, n, 'append', now() - make_interval(secs => 30 * (%s - n)), false, 1000, 1000, 2, 0, 100000, 900 + n %% 300,
    '{"addBatch": 700, "triggerExecution": 900}', 30, 900 from generate_series(0, %s) n
"""


@pytest.mark.spark
def test_the_bench_of_rounds_runs(engine, tmp_path):
    section = streams.run(engine, tmp_path, streams.FULL if FULL else streams.TINY)
    print(section)
    assert "| one round |" in section
    if FULL:
        put_into(streams.DOCUMENT, section)


@pytest.mark.django_db
def test_the_bench_of_pages_runs(tmp_path: Path):
    root = factories.root_at(tmp_path)
    stream = factories.stream(factories.TableFactory(root=root))
    with connection.cursor() as cursor:
        cursor.execute(FILL, [stream.pk, PAST, PAST])
        cursor.execute("analyze jobs_streambatch")
    ran = [round_of(stream, number) for number in range(1, ROUNDS + 1)]
    newest = StreamBatch.objects.filter(stream=stream).order_by("-id").values("pk")[:ROUNDS]
    StreamBatch.objects.filter(pk__in=newest).update(job=ran[-1].pk)
    client = browser(factories.person_with("viewer"))
    api = f"/api/v1/streams/{stream.pk}/batches"
    middle = client.get(f"{api}?limit=1").json()["next"]
    pages = ["/streams/", f"/streams/{stream.pk}/", api, middle.replace("http://testserver", "")]
    rows = [
        f"| `{page.replace(str(stream.pk), 'ID').partition('&')[0]}` | {looks_at(client, page)} | ≤ 50 ms |"
        for page in pages
    ]
    how = f"`make bench`: a stream with {PAST:,} past batches and {ROUNDS} rounds, {LOOKS} looks at each page through the whole"
    how += f" application, on {os.cpu_count()} processors under a load average of {os.getloadavg()[0]:.1f}. The bar is for p95; the time on"
    how += " a processor is the web process's own, which other work on the machine lengthens less."
    head = "| page | median | p95 | median on a processor | bar |\n|---|---|---|---|---|\n"
    section = f"{TITLE}\n\n{how}\n\n{head}" + "\n".join(rows) + "\n"
    print(section)
    assert len(rows) == len(pages)
    if FULL:
        put_into(streams.DOCUMENT, section)


@pytest.mark.django_db
@pytest.mark.usefixtures("redis_server")
def test_the_bench_of_stops_runs(tmp_path: Path):
    """From the request to stop until the stream says so, and from the end of a round until the dispatcher has booked it."""
    root = factories.root_at(tmp_path)
    operator = factories.person_with("operator")
    client, idle, busy, ended = browser(operator), [], [], []
    assert client.get("/api/v1/streams").status_code == 200  # the first request of a process takes longer
    for number in range(STOPS):
        stream = factories.stream(
            factories.table_in(root, f"into{number}"), operator, state=Stream.State.RUNNING, run_by=operator
        )
        address = f"/api/v1/streams/{stream.pk}"
        idle.append(seconds_to(client, f"{address}/stop", address, "stopped"))
        Stream.objects.filter(pk=stream.pk).update(state=Stream.State.RUNNING, state_text="")
        job = running_round(stream, number + 1)
        busy.append(seconds_to(client, f"{address}/stop", address, "stopping"))
        dispatcher.look()
        assert client.get(address).json()["state"] == "stopping"  # the round goes on
        move(job, State.SUCCEEDED, Cause.WORKER, "bench", token=job.token, result={"details": {}}, no_op=True)
        start = time.perf_counter()
        dispatcher.look()
        assert client.get(address).json()["state"] == "stopped"
        ended.append(time.perf_counter() - start)
        Stream.objects.filter(pk=stream.pk).update(next_round_at=timezone.now())
        assert dispatcher.look() == 0  # no other round begins
    section = stops_section(idle, busy, [seconds + STREAMS_LOOK for seconds in ended])
    print(section)
    assert max(statistics.median(idle), statistics.median(busy)) <= STOP_BAR_S
    if FULL:
        put_into(streams.DOCUMENT, section)


def seconds_to(client: Client, act: str, address: str, state: str) -> float:
    """Seconds from the request to the stream's own word that it is so."""
    start = time.perf_counter()
    assert client.post(act, content_type="application/json").status_code == 202
    wait_for(lambda: client.get(address).json()["state"] == state, f"the stream is {state}", STOP_BAR_S, every_s=0)
    return time.perf_counter() - start


def running_round(stream: Stream, number: int) -> Job:
    """A round that a worker has."""
    command = StreamRound(str(stream.pk), stream.name, stream.definition, number=number)
    job = factories.job_on(stream.table, stream.created_by, command, state=State.RUNNING, attempt=1, token=number)
    Round.objects.create(stream=stream, job=job, number=number, revision=1)
    return job


def stops_section(idle: list[float], busy: list[float], ended: list[float]) -> str:
    """The section of the document."""
    how = f"`make bench`: {len(idle)} streams stopped over the API, on {os.cpu_count()} processors under a load average of"
    how += f" {os.getloadavg()[0]:.1f}. The dispatcher looks every {STREAMS_LOOK:.0f} s, which counts in full in the last row."
    figures = {
        "stop without a round → `stopped`": idle,
        "stop while a round runs → `stopping`; it is the last one": busy,
        "that round’s end → `stopped`": ended,
    }
    rows = [
        f"| {what} | {statistics.median(times):.2f} s | {max(times):.2f} s | ≤ {STOP_BAR_S:.0f} s |"
        for what, times in figures.items()
    ]
    return f"{STOPS_TITLE}\n\n{how}\n\n| | median | most | bar |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def round_of(stream: Stream, number: int) -> Job:
    """A round that has ended, as the rail of the page lists it."""
    command = StreamRound(str(stream.pk), stream.name, stream.definition, number=number)
    now = timezone.now()
    job = factories.job_on(
        stream.table,
        stream.created_by,
        command,
        state=State.SUCCEEDED,
        finished_at=now,
        version=number,
        result={"details": {}},
    )
    Round.objects.create(stream=stream, job=job, number=number, revision=1, booked_at=now)
    return job


def looks_at(client: Client, page: str) -> str:
    """Milliseconds of the looks at a page after a first one: median, p95, and the median of the time on a processor."""
    took, worked = [], []
    for _ in range(LOOKS + 1):
        start, start_of_work = time.perf_counter(), time.process_time()
        assert client.get(page).status_code == 200, page
        took.append(1000 * (time.perf_counter() - start))
        worked.append(1000 * (time.process_time() - start_of_work))
    slow = statistics.quantiles(took[1:], n=20, method="inclusive")[-1]
    return f"{statistics.median(took[1:]):.0f} ms | {slow:.0f} ms | {statistics.median(worked[1:]):.0f} ms"
