"""How fast home is over a large catalog, for people with narrow and with wide scopes.

`python -m tests.bench.home` loads 100,000 tables with 180 days of history each (18,000,000 rows of days, 500,000 commits, of which 20,000
await acknowledgement) into a PostgreSQL of its own and writes the section "Home at size" of docs/benchmarks.md; `--tiny` does the same
steps with 500 tables. Times are the server's: from the request's arrival to the last byte of the answer, without a network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import uuid
from dataclasses import dataclass
from typing import Any

from console.supervisor.servers import postgres
from tests import servers
from tests.bench.catalog import TABLE_COLUMNS, Size, copy_rows, table_rows
from tests.bench.document import DOCUMENT, put_into

TITLE = "## Home at size"
BAR_MS = 50
ROOTS = 10
SINGLE = 40  # tables that one of the people sees one by one


@dataclass(frozen=True)
class Scale:
    tables: int
    commits: int  # of the newest days, spread over all tables
    unapproved: int  # of them
    waiting: int
    rounds: int
    days: int  # of history: home shows the newest 30


FULL = Scale(tables=100_000, commits=500_000, unapproved=20_000, waiting=40, rounds=40, days=180)
TINY = Scale(tables=500, commits=1_000, unapproved=100, waiting=3, rounds=3, days=60)
DAYS = """
insert into tables_tableday (table_id, incarnation, day, commits, bytes_grown, rows_grown, appends, changes, removals, upkeeps,
                             rows_in, rows_out, bytes_in, bytes_out, untold)
select t.id, 0, current_date - n, 7, 1000, 100, 4, 1, 1, 1, 120, 20, 5000, 4000, 0
from tables_table t cross join generate_series(0, %s) n
order by n desc -- as they come in
"""
COMMITS = """
insert into tables_commit (table_id, incarnation, version, committed_at, operation, operation_parameters, operation_metrics, user_name,
    engine_info, isolation_level, txn_id, user_metadata, files_added, files_removed, bytes_added, bytes_removed, rows_changed, problems)
select t.id, 0, v, now() - (v * interval '7 hours') - (('x' || right(t.id::text, 4))::bit(16)::int %% 400) * interval '1 minute',
    (array['WRITE', 'MERGE', 'DELETE', 'OPTIMIZE'])[1 + (v + ('x' || right(t.id::text, 2))::bit(8)::int) %% 40 / 13],
    '{"mode": "Append"}', '{}', 'someone', 'Spark', '', '', '', 3, 1, 4096, 512, 90, '[]'
from tables_table t cross join generate_series(0, %s) v
"""
UNAPPROVED = """
insert into tables_explanation (table_id, incarnation, version, effects, verdict, why, found_at, reason)
select table_id, incarnation, version, '{delete}', 'nobody', 'It names no job.', committed_at + interval '1 minute', ''
from tables_commit where operation = 'DELETE' order by committed_at desc limit %s
"""


def load(scale: Scale) -> dict[str, uuid.UUID]:
    """Fills the database; the people by what they see."""
    from django.db import connections

    from console.accounts.roles import Role
    from tables.catalog import facets
    from tables.catalog.lately import days
    from tables.models import Root, Schema, Table
    from tests import factories

    roots: list[Root] = [factories.RootFactory(name=f"root{n}", uri=f"/bench/{n}") for n in range(ROOTS)]
    schema = Schema.objects.create(sha256="0" * 64, struct={"type": "struct", "fields": []}, columns=[])
    size = Size(tables=scale.tables, commits=0, deep=0, rounds=0)
    with connections["admin"].cursor() as cursor:
        copy_rows(cursor, "tables_table", TABLE_COLUMNS, table_rows(size, [root.pk for root in roots], schema.pk))
        cursor.execute("update tables_synctimes set synced_at = now()")
        cursor.execute(DAYS, [scale.days - 1])
        cursor.execute(COMMITS, [max(0, scale.commits // scale.tables - 1)])
        cursor.execute(UNAPPROVED, [scale.unapproved])
        for name in ("table", "synctimes", "tableday", "commit", "explanation"):
            cursor.execute(f"vacuum analyze tables_{name}")
    for root in roots:
        facets.refresh(root)
        days.refresh(root)
    people = {
        name: factories.person_named(name.replace(" ", "_"))
        for name in ("everything", "4 of 10 roots", f"{SINGLE} tables")
    }
    for role in (Role.OPERATOR, Role.APPROVER, Role.ADMIN):
        factories.GrantFactory(person=people["everything"], role=role)
    for root in roots[:4]:
        factories.GrantFactory(person=people["4 of 10 roots"], role=Role.APPROVER, root=root)
    for table in Table.objects.order_by("id")[:SINGLE]:
        factories.GrantFactory(person=people[f"{SINGLE} tables"], role=Role.VIEWER, table=table)
    _jobs(scale)
    return {name: person.pk for name, person in people.items()}


def _jobs(scale: Scale) -> None:
    """Requests that wait, and jobs that are being measured. The database lets a job begin by its preview alone."""
    from jobs.models import Job
    from tables.models import Table
    from tests import factories

    asker = factories.person_named("asker")
    policy = {"required_approvals": 1, "role": "approver"}
    waiting = [
        factories.job("previewing", table=table, requested_by=asker, policy=policy)
        for table in Table.objects.order_by("id")[: scale.waiting]
    ]
    Job.objects.filter(pk__in=[job.pk for job in waiting]).update(state="awaiting_approval", digest="0" * 64)
    for table in Table.objects.order_by("-id")[: scale.waiting]:
        factories.job("previewing", table=table, requested_by=asker)


def addresses() -> dict[str, str]:
    """What is asked for, by name."""
    from datetime import UTC, datetime

    day = datetime.now(UTC).date().isoformat()
    return {
        "home": "/",
        "home, what open pages poll": "/home/now/",
        "commits of a day": f"/tables/commits/?day={day}",
        "commits of a day, one kind": f"/tables/commits/?day={day}&kind=removal",
        "destructive commits of a week": "/tables/commits/?kind=destructive",
        "unapproved commits": "/tables/commits/?kind=unapproved",
    }


def measure(people: dict[str, uuid.UUID], scale: Scale) -> dict[str, dict[str, float]]:
    """Median, 95th percentile, median on the processor (milliseconds), and queries of each request for each person, in turns."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from console.accounts.models import Person

    clients = {name: Client(SERVER_NAME="127.0.0.1") for name in people}
    for name, client in clients.items():
        client.force_login(Person.objects.get(pk=people[name]))
    kinds = {(what, who): path for what, path in addresses().items() for who in people}
    times: dict[tuple[str, str], list[float]] = {kind: [] for kind in kinds}
    busy: dict[tuple[str, str], list[float]] = {kind: [] for kind in kinds}
    queries = {}
    for (what, who), path in kinds.items():  # this round fills the caches that a running console has
        with CaptureQueriesContext(connection) as asked:
            clients[who].get(path)
        queries[what, who] = len(asked)
    for _ in range(scale.rounds):
        for (what, who), path in kinds.items():
            start, worked = time.perf_counter(), time.process_time()
            answer = clients[who].get(path)
            times[what, who].append((time.perf_counter() - start) * 1000)
            busy[what, who].append((time.process_time() - worked) * 1000)
            assert answer.status_code == 200, (path, answer.content[:500])
    return {
        f"{what}; {who}": {
            "median": statistics.median(each),
            "p95": sorted(each)[int(len(each) * 0.95)],
            "processor": statistics.median(busy[what, who]),
            "queries": queries[what, who],
        }
        for (what, who), each in times.items()
    }


def refreshing() -> float:
    """Seconds to sum the days of one root anew, as the light worker does every five minutes."""
    from tables.catalog.lately import days
    from tables.models import Root

    start = time.perf_counter()
    days.refresh(Root.objects.order_by("name")[0])
    return time.perf_counter() - start


def run(scale: Scale) -> dict[str, Any]:
    """The whole bench on a server of its own."""
    home = servers.prepare_environment()
    try:
        with servers.running_postgres(home):
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", database="admin", verbosity=0)
            people = load(scale)
            with postgres.connect(home) as superuser:  # what the load wrote is on disk before anything is measured
                superuser.execute("checkpoint")
            return {"requests": measure(people, scale), "refresh_s": refreshing()}
    finally:
        servers.remove(home)


def report(scale: Scale, results: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md."""
    rows = "\n".join(
        f"| {name.replace('; ', ' | ')} | {each['median']:.0f} ms | {each['p95']:.0f} ms | {each['processor']:.0f} ms "
        f"| {each['queries']:.0f} | ≤ {BAR_MS} ms |"
        for name, each in results["requests"].items()
    )
    load_now = os.getloadavg()[0]
    return f"""{TITLE}

`python -m tests.bench.home`: {scale.tables:,} tables in {ROOTS} roots with {scale.days} days of history each, {scale.commits:,} commits
({scale.unapproved:,} of them await acknowledgement), {scale.waiting} requests that wait and as many jobs that run. Server time over
{scale.rounds} requests of each kind, the kinds taking turns; {os.cpu_count()} processors ({platform.machine()}, Python
{platform.python_version()}) under a load average of {load_now:.1f}. The time on a processor is the web process’s own (median), which other
work on the machine lengthens less; the database’s is not in it.
The light worker takes {results["refresh_s"]:.1f} s to sum the days of one root anew.

| request | who sees | median | p95 | on a processor | queries | bar (p95) |
|---|---|---|---|---|---|---|---|
{rows}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    scale = TINY if parser.parse_args().tiny else FULL
    results = run(scale)
    print(json.dumps(results, indent=1))
    if scale == FULL:
        put_into(DOCUMENT, report(scale, results))


if __name__ == "__main__":
    main()
