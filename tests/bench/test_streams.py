"""The bench of streams' rounds runs and measures what it says, and so does that of their pages; full size with LEVEE_BENCH_SIZE=full."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path

import pytest
from django.db import connection

from tests import factories
from tests.bench import streams
from tests.bench.document import put_into
from tests.clients import browser

FULL = os.environ.get("LEVEE_BENCH_SIZE") == "full"
PAST, LOOKS = (1_000_000, 40) if FULL else (2_000, 2)
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
    client = browser(factories.person_with("viewer"))
    api = f"/api/v1/streams/{stream.pk}/batches"
    middle = client.get(f"{api}?limit=1").json()["next"]
    pages = ["/streams/", f"/streams/{stream.pk}/", api, middle.replace("http://testserver", "")]
    rows = [
        f"| `{page.replace(str(stream.pk), 'ID').partition('&')[0]}` | {p95(client, page):.0f} ms | ≤ 50 ms |"
        for page in pages
    ]
    how = f"`make bench`: a stream with {PAST:,} past batches, {LOOKS} looks at each page through the whole application, on"
    how += f" {os.cpu_count()} processors under a load average of {os.getloadavg()[0]:.1f}. p95."
    section = f"{TITLE}\n\n{how}\n\n| page | p95 | bar |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    print(section)
    assert len(rows) == len(pages)
    if FULL:
        put_into(streams.DOCUMENT, section)


def p95(client, page: str) -> float:
    """Milliseconds in which 95 of 100 looks are answered."""
    took = []
    for _ in range(LOOKS + 1):
        start = time.perf_counter()
        assert client.get(page).status_code == 200, page
        took.append(1000 * (time.perf_counter() - start))
    return statistics.quantiles(took[1:], n=20)[-1] if len(took) > 2 else max(took)
