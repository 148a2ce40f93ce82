"""How long a scrape of `/metrics` takes beside a long past.

`python -m tests.bench.scrape` enters 1,000,000 jobs that have ended, with an attempt each, 1,000 open ones, and 100,000 tables that are
due for a sync; it writes the section "A scrape" of docs/benchmarks.md. `--tiny` only proves that it runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from console.supervisor.home import Home
from console.supervisor.servers import postgres
from tests import servers
from tests.bench.audit import LARGE, migrated, p95
from tests.bench.document import DOCUMENT, put_into

if TYPE_CHECKING:
    from console.metrics.figures import FigureSource

TITLE = "## A scrape"
BAR_MS = 50.0
DAYS = 100  # over which the jobs have ended, evenly, today among them


@dataclass(frozen=True)
class Size:
    jobs: int
    open_jobs: int
    tables: int
    scrapes: int


FULL = Size(jobs=1_000_000, open_jobs=1_000, tables=100_000, scrapes=60)
TINY = Size(jobs=2_000, open_jobs=20, tables=100, scrapes=3)

_TABLES = """
insert into tables_table (id, root_id, path, name, format, owner, description, tags, added_at, incarnation, head_mark, partition_columns,
    clustering_columns, properties, features, comment, log_state, problems, health, health_codes, sync_error, leaf, words, grams)
select md5('table' || n)::uuid, %(root)s, '/bench/t' || n, 't' || n, 'delta', '', '', '{}', now(), 0, '', '{}', '{}', '{}', '{}', '', '{}',
    '[]', '[]', '{}', '', 't' || n, '', '{}' from generate_series(1, %(tables)s) n
"""
_DUE = "update tables_synctimes set next_sync_at = now() - random() * interval '1 hour'"
# Each day's jobs are spread over what has passed of today.
_JOBS = """
insert into jobs_job (id, command, schema_version, parameters, parameters_sha256, table_id, location, state, requested_by_id, requested_at,
    reason, expires_at, request_sha256, revision, policy, digest, queued_at, attempt, progress, result, error, no_op, finished_at)
select md5('job' || n)::uuid, 'convert', 1, '{}', md5(n::text), md5('table' || 1 + n %% %(tables)s)::uuid, '/bench/' || n, state,
    %(person)s, ended - interval '1 min', 'bench', ended + interval '1 day', '', 1, '{}', '', ended - interval '1 min', 1, '{}',
    case state when 'succeeded' then '{}'::jsonb end, case state when 'failed' then '{}'::jsonb end, false,
    case when state <> 'queued' then ended end
from generate_series(1, %(jobs)s + %(open)s) n, lateral (select
    date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'
        - make_interval(days => greatest(0, %(days)s - 1 - n / (%(jobs)s / %(days)s)))
        + (n %% (%(jobs)s / %(days)s)) * (now() - date_trunc('day', now() at time zone 'UTC') at time zone 'UTC')
            / (%(jobs)s / %(days)s) as ended,
    case when n > %(jobs)s then 'queued' when n %% 10 = 3 then 'failed' else 'succeeded' end as state) ends
"""
_ATTEMPTS = """
insert into jobs_attempt (id, job_id, kind, number, token, worker, host, boot_id, pid, start_ticks, claimed_at, ended_at, outcome)
select md5('attempt' || row_number)::uuid, id, 'run', 1, row_number, 'spark-' || row_number % 3 || '@host', 'host', 'boot', 1, 1,
    finished_at - interval '10 s', finished_at, case when row_number % 100 = 7 then 'lost' else 'ended' end
from (select id, finished_at, row_number() over (order by finished_at) from jobs_job where finished_at is not null) ended
"""
# What the database's triggers would have counted, in as many parts as there can be.
_ENDS = """
insert into jobs_endedjobs (command, state, slot, jobs)
select command, state, slot, count(*) from (select *, row_number() over () % 64 slot from jobs_job where finished_at is not null) ended
group by 1, 2, 3
"""
_ATTEMPTS_ENDED = """
insert into jobs_endedattempts (worker, kind, slot, lost, seconds)
select 'spark', kind, token % 64, count(*) filter (where outcome = 'lost'), 10 * count(*) from jobs_attempt group by 1, 2, 3
"""
_FILLED = "tables_table", "tables_synctimes", "jobs_job", "jobs_attempt", "jobs_endedjobs", "jobs_endedattempts"


def fill(home: Home, size: Size) -> None:
    """The rows, by the server itself. Without triggers: each would be entered as a request that a person makes."""
    from tests import factories

    root, person = factories.RootFactory(uri="/bench"), factories.PersonFactory()
    values = {
        "root": root.pk, "person": person.pk, "tables": size.tables, "jobs": size.jobs, "open": size.open_jobs, "days": DAYS,
    }  # fmt: skip
    with postgres.connect(home) as connection:
        connection.execute(_TABLES, values)  # whose trigger makes the times of their syncs
        connection.execute(_DUE)
        with connection.transaction():
            connection.execute("set local session_replication_role = replica")
            connection.execute(_JOBS, values)
            for statement in (_ATTEMPTS, _ENDS, _ATTEMPTS_ENDED):
                connection.execute(statement)
    with postgres.connect(home) as connection:
        connection.autocommit = True
        for table in _FILLED:
            connection.execute(f"vacuum analyze {table}".encode())


def measure(home: Home, size: Size) -> tuple[list[float], float, list[tuple[str, float]]]:
    """Milliseconds of each scrape after a first one; those on a processor, on average; the slowest queries with the median of each."""
    from console.metrics import figures, views

    fill(home, size)
    text, took = views.exposition(), []
    worked = _worked_ms()
    for _ in range(size.scrapes):
        started = time.perf_counter()
        text = views.exposition()
        took.append((time.perf_counter() - started) * 1000)
    worked = (_worked_ms() - worked) / size.scrapes
    failed = len([n for n in range(1, size.jobs + 1) if n % 10 == 3])
    for sample in (
        f'levee_jobs_ended_total{{kind="convert",state="failed"}} {float(failed)}',
        f'levee_jobs_open{{kind="convert",state="queued"}} {float(size.open_jobs)}',
        f"levee_tables_due {float(min(size.tables, 1_000))}",
    ):
        if sample.encode() not in text:
            sys.exit(f"the scrape doesn't say: {sample}")
    return took, worked, slowest(figures.SOURCES, size.scrapes)


def _worked_ms() -> float:
    """What this process and its PostgreSQL backend have had of the processors: other work on the machine doesn't lengthen it."""
    from django.db import connection

    stat = Path(f"/proc/{connection.connection.info.backend_pid}/stat").read_text()
    ticks = stat[stat.rindex(")") + 2 :].split()[11:13]
    return 1000 * (time.process_time() + sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))


def slowest(sources: Sequence[FigureSource], times: int) -> list[tuple[str, float]]:
    """The metric and the median of milliseconds of the slowest queries, as a scrape runs them."""
    from django.db import connection, transaction

    medians: list[tuple[str, float]] = []
    for source in sources:
        took: list[float] = []
        for _ in range(times):
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("set local max_parallel_workers_per_gather = 0")
                started = time.perf_counter()
                source.query()
                took.append((time.perf_counter() - started) * 1000)
        medians.append((source.families[0].name, statistics.median(took)))
    return sorted(medians, key=lambda each: -each[1])[:3]


def run(size: Size) -> tuple[str, bool]:
    """The section of the document, and whether the bar holds."""
    home = servers.prepare_environment()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    try:
        with migrated(home, LARGE), servers.running_redis(home):
            took, worked, queries = measure(home, size)
    finally:
        servers.remove(home)
    slow = p95(took)
    how = f"`python -m tests.bench.scrape`: {size.jobs:,} jobs that ended, with an attempt each, {size.open_jobs:,} open ones, and"
    how += f" {size.tables:,} tables that are due; {size.scrapes} scrapes on {os.cpu_count()} processors under a load average of"
    how += f" {os.getloadavg()[0]:.1f}. The time on a processor is this process's and its PostgreSQL backend's, which other work lengthens"
    how += " less. The slowest queries: " + ", ".join(f"`{name}` {ms:.1f} ms" for name, ms in queries) + "."
    figures = f"{statistics.median(took):.0f} ms | {slow:.0f} ms | {worked:.0f} ms"
    head = "| | median | p95 | on a processor | bar (p95) |\n|---|---|---|---|---|"
    row = f"| `GET /metrics`, its text | {figures} | ≤ {BAR_MS:.0f} ms |"
    return f"{TITLE}\n\n{how}\n\n{head}\n{row}\n", slow <= BAR_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a run that only proves that it runs")
    tiny = parser.parse_args().tiny
    section, holds = run(TINY if tiny else FULL)
    print(section)
    if not tiny:
        put_into(DOCUMENT, section)
        if not holds:
            sys.exit("the bar was missed")


if __name__ == "__main__":
    main()
