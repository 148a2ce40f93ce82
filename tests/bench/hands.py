"""How fast a person gets somewhere when the catalog is large: the palette, and lists as people have them.

`python -m tests.bench.hands` loads 100,000 tables, 300,000 jobs, 2,000 requests that wait and 2,000 schedules into a PostgreSQL of its
own and writes the section "Palette and lists" of docs/benchmarks.md; `--tiny` does the same steps with 200 tables in seconds. Times are
the server's, without a network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import timeit
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from console.supervisor.servers import postgres
from tests import servers
from tests.bench import catalog
from tests.bench.document import DOCUMENT, put_into

TITLE = "## Palette and lists"
PALETTE_BAR_MS, LIST_BAR_MS = 60, 50
PALETTE = {"HX-Request": "true", "HX-Target": "palette-list"}
COUNTED = 4
YARDSTICK = "a million additions of Python’s"


@dataclass(frozen=True)
class Size:
    catalog: catalog.Size
    jobs: int
    people: int
    waiting: int  # requests that wait for an approval
    decided: int  # jobs that one person has decided
    schedules: int
    runs: int  # of each schedule; of the one for all tables of a root, on each of these
    roots: int

    @property
    def rounds(self) -> int:
        return self.catalog.rounds


FULL = Size(
    catalog.Size(tables=100_000, commits=400_000, deep=200_000, rounds=60), jobs=300_000, people=1_000,
    waiting=2_000, decided=20_000, schedules=2_000, runs=30, roots=200,
)  # fmt: skip
TINY = Size(
    catalog.Size(tables=200, commits=2_000, deep=500, rounds=3), jobs=500, people=20,
    waiting=20, decided=50, schedules=20, runs=8, roots=15,
)  # fmt: skip

# Ended jobs, a minute apart, on all tables in turn. Without triggers: each would be entered as a request that a person makes.
_JOBS = """
insert into jobs_job (id, command, schema_version, parameters, parameters_sha256, table_id, location, state, requested_by_id, requested_at,
    reason, expires_at, request_sha256, revision, policy, digest, queued_at, attempt, progress, result, error, no_op, finished_at, folded)
select md5('job' || n)::uuid, 'convert', 1, '{}', md5(n::text), lpad(to_hex(1 + n %% %(tables)s), 32, '0')::uuid, '/bench/' || n, 'failed',
    %(person)s, now() - make_interval(mins => n), 'bench', now(), '', 1, '{}', '', now() - make_interval(mins => n), 1, '{}', null,
    '{}'::jsonb, false, now() - make_interval(mins => n), false
from generate_series(1, %(jobs)s) n
"""
# Open requests, a minute apart, on the first tables; two approvals are needed, and a third of them have one.
_WAITING = """
insert into jobs_job (id, command, schema_version, parameters, parameters_sha256, table_id, location, state, requested_by_id, requested_at,
    reason, expires_at, request_sha256, revision, preview, policy, digest, attempt, progress, no_op, folded)
select md5('waiting' || n)::uuid, 'convert', 1, '{}', md5(n::text), lpad(to_hex(n), 32, '0')::uuid, '/bench/waiting/' || n,
    'awaiting_approval', %(person)s, now() - make_interval(mins => n), 'bench', now() + interval '7 days', '', 1, %(preview)s,
    '{"required_approvals": 2, "role": "approver", "reasons": []}', md5(n::text), 0, '{}', false, false
from generate_series(1, %(waiting)s) n
"""
_APPROVED = """
insert into jobs_decision (id, job_id, person_id, decision, digest, comment, decided_at)
select gen_random_uuid(), md5('waiting' || n)::uuid, %(second)s, 'approve', md5(n::text), '', now()
from generate_series(3, %(waiting)s, 3) n
"""
_DECIDED = """
insert into jobs_decision (id, job_id, person_id, decision, digest, comment, decided_at)
select gen_random_uuid(), md5('job' || n)::uuid, %(approver)s, 'approve', '', '', now() - make_interval(mins => n)
from generate_series(1, %(decided)s) n
"""
_RUNS = """
insert into jobs_schedulerun (schedule_id, table_id, due_at, digest, parameters_sha256, outcome, text, ended_at)
select s.id, s.table_id, now() - make_interval(days => n), s.digest, '', 'succeeded', '', now() - make_interval(days => n)
from jobs_schedule s cross join generate_series(1, %(runs)s) n where s.table_id is not null order by n desc
"""
# The schedule for all tables of a root: each earlier time, and the newest one, planned.
_RUNS_OF_MANY = """
insert into jobs_schedulerun (schedule_id, table_id, due_at, digest, parameters_sha256, is_planned, outcome, text, ended_at)
select s.id, t.id, now() - make_interval(days => n), s.digest, '', n = 0, case n when 0 then '' else 'succeeded' end, '',
    case n when 0 then null else now() - make_interval(days => n) end
from jobs_schedule s join tables_table t on t.root_id = s.root_id cross join generate_series(0, %(runs)s) n order by n desc
"""


def load(size: Size) -> dict[str, Any]:
    """Fills the database, and lets the person who asks have their lists in their own way."""
    from console.accounts import lists
    from console.accounts.models import Person
    from console.accounts.roles import Role
    from jobs.web.kinds import JOBS
    from tables.models import Root
    from tables.web.kinds import TABLES
    from tests import factories

    found = catalog.load(size.catalog)
    person = Person.objects.get(pk=found["person"].pk)
    factories.GrantFactory(
        person=person, role=Role.ADMIN, root=Root.objects.get(name="root0")
    )  # who finds people as well
    Person.objects.bulk_create(Person(name=f"colleague-{n:04}", password="!") for n in range(size.people))
    for number in range(lists.MOST_FILTERS):
        kind, query = (TABLES, f"owner=owner{number}") if number % 2 else (JOBS, f"by=colleague-{number:04}")
        lists.save_filter(person, kind, f"mine {number}", query, pinned=number < 5)
    other = Person.objects.get(pk=factories.person_named("arranged").pk)
    for root in Root.objects.order_by("name")[:4]:
        factories.GrantFactory(person=other, role=Role.VIEWER, root=root)
    lists.arrange(other, TABLES, ["size", "rows", "health"], "-changed", 200)
    lists.arrange(other, JOBS, ["state", "when"], "oldest", 200)
    return {**found, "person": person, "other": other, **_load_more(person, size)}


def _load_more(asker: Any, size: Size) -> dict[str, Any]:
    """Schedules and further roots, which hold no table, and the people who look at them."""
    from console.accounts.models import Person
    from console.accounts.roles import Role
    from jobs.models import Schedule
    from tables.models import Root, Table
    from tests import factories

    approver, second = factories.person_named("approver"), factories.appointed("second", Role.APPROVER)
    for root in Root.objects.order_by("name")[:4]:
        factories.GrantFactory(person=approver, role=Role.APPROVER, root=root)
    factories.GrantFactory(person=approver, role=Role.VIEWER)
    admin = factories.person_named("admin", Role.ADMIN)
    states = {0: Schedule.State.STOPPED, 2: Schedule.State.AWAITING_APPROVAL}
    for place, table in enumerate(Table.objects.order_by("id")[: size.schedules]):
        state = states.get(place // 10 % 10)  # the last digit says the root
        factories.schedule(table, asker, **({"state": state, "next_due_at": None} if state else {}))
    many = factories.schedule(None, asker, root=Root.objects.get(name="root0"))
    # By name after those that hold the tables.
    for number in range(size.roots - 10):
        factories.RootFactory(name=f"spare{number:03}", uri=f"/bench-spare/{number}")
    people = {"approver": approver, "second": second, "admin": admin}
    return {"many": many.pk, **{name: Person.objects.get(pk=who.pk) for name, who in people.items()}}


def load_jobs(home: Any, found: dict[str, Any], size: Size) -> None:
    """The jobs, what people decided about them, and the runs of schedules, by the server itself."""
    from tests import factories

    values = {
        **{name: found[name].pk for name in ("person", "approver", "second")},
        "tables": size.catalog.tables, "jobs": size.jobs, "waiting": size.waiting, "decided": size.decided, "runs": size.runs,
        "preview": json.dumps(factories.inspection()),
    }  # fmt: skip
    with postgres.connect(home) as connection, connection.transaction():
        connection.execute("set local session_replication_role = replica")
        for statement in (_JOBS, _WAITING, _APPROVED, _DECIDED, _RUNS, _RUNS_OF_MANY):
            connection.execute(statement, values)
    with postgres.connect(home) as connection:
        connection.autocommit = True
        for table in ("job", "decision", "schedule", "schedulerun"):
            connection.execute(f"vacuum analyze jobs_{table}".encode())
        connection.execute("checkpoint")


Request = tuple[str, str]  # who asks, and the address


def requests(found: dict[str, Any], size: Size) -> dict[str, Callable[[int], Request]]:
    """Name → who asks what, for the nth request of its kind."""
    tables = size.catalog.tables

    def some(place: int) -> uuid.UUID:
        return uuid.UUID(int=1 + (place * 7919 // 10 * 10 + place % 4) % tables)

    def asked(question: Callable[[int], str]) -> Callable[[int], Request]:
        return lambda place: ("person", f"/find/?q={question(place)}&at=/tables/{some(place)}/")

    recent = "&".join(f"recent=table:{some(n)}" for n in range(8))
    return {
        "palette, nothing asked yet": lambda place: ("person", f"/find/?at=/tables/{some(place)}/&{recent}"),
        "palette, a word that a tenth has": asked(lambda place: catalog.WORDS[place % 10]),
        "palette, a part that all have": asked(lambda place: ("er", "a", "bench", "mount")[place % 4]),
        "palette, a column that all have": asked(lambda place: ("order_id", "customer_id", "amount")[place % 3]),
        "palette, one table": asked(lambda place: f"{place * 4:06}"),
        "palette, nothing of that name": asked(lambda place: ("zebra", "q7", "orders_zz", "xylophone")[place % 4]),
        "palette, a colleague": asked(lambda place: f"colleague-{place % size.people:04}"),
        "palette, a filter of one's own": asked(lambda place: f"mine {place % 50}"),
        "tables, 200 rows, own columns and order": lambda place: ("other", "/tables/"),
        "tables, 50 rows, 25 saved filters": lambda place: ("person", "/tables/"),
        "jobs, 200 rows, oldest first": lambda place: ("other", "/jobs/"),
        "jobs, 50 rows, newest first": lambda place: ("person", "/jobs/"),
        "approvals, 50 that wait for oneself, and others'": lambda place: ("approver", "/approvals/"),
        "approvals, 50 decided": lambda place: ("approver", "/approvals/?show=decided"),
        "schedules, 50 rows": lambda place: ("person", "/schedules/"),
        "schedules, 50 rows, stopped first": lambda place: ("person", "/schedules/?order=stopped"),
        "a schedule for all tables of a root": lambda place: ("person", f"/schedules/{found['many']}/"),
        "roots, 50 rows": lambda place: ("admin", "/roots/"),
    }


def addition_ms() -> float:
    """Milliseconds of YARDSTICK right now: they tell one machine's figures from another's."""
    return timeit.timeit("for each in range(1_000_000): total += each", "total = 0", number=1) * 1000


def rows_shown(content: bytes) -> int:
    """The rows of a page's lists, their headings aside; of a schedule, its runs."""
    _, _, runs = content.partition(b'id="runs"')
    rows = content.count(b'<tr role="row"') - content.count(b'<thead role="rowgroup"')
    return rows + runs.partition(b"</ul>")[0].count(b"<li>")


def measure(found: dict[str, Any], size: Size) -> dict[str, dict[str, float]]:
    """Median and 95th percentile (milliseconds), queries and rows of each kind of request, and of YARDSTICK; they take turns."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    clients = {name: Client(SERVER_NAME="127.0.0.1") for name in ("person", "other", "approver", "admin")}
    for name, client in clients.items():
        client.force_login(found[name])
    kinds = requests(found, size)
    times: dict[str, list[float]] = {name: [] for name in (*kinds, YARDSTICK)}
    queries: dict[str, int] = {}
    rows: dict[str, int] = {}
    for place in range(COUNTED):
        for name, kind in kinds.items():
            who, address = kind(place)
            with CaptureQueriesContext(connection) as seen:
                answer = clients[who].get(address, headers=PALETTE)
            queries[name] = max(queries.get(name, 0), len(seen))
            rows[name] = rows_shown(answer.content)
    for place in range(size.rounds):
        times[YARDSTICK].append(addition_ms())
        for name, kind in kinds.items():
            who, address = kind(place)
            start = time.perf_counter()
            answer = clients[who].get(address, headers=PALETTE)
            times[name].append((time.perf_counter() - start) * 1000)
            assert answer.status_code == 200, (address, answer.content[:500])
    return {
        name: {
            "median": statistics.median(each),
            "p95": sorted(each)[int(len(each) * 0.95)],
            "queries": queries.get(name, 0),
            "rows": rows.get(name, 0),
        }
        for name, each in times.items()
    }


def measure_look(size: Size) -> dict[str, float]:
    """Median and 95th percentile (milliseconds) of how long the dispatcher takes to find what to do about the planned runs."""
    from jobs.dispatcher.stores import by_store
    from jobs.schedules import closing, planning

    times = []
    for _ in range(size.rounds):
        start = time.perf_counter()
        assert by_store(planning.planned())
        assert not list(closing.with_planned_to_end())
        list(closing.open_runs()[:1])
        times.append((time.perf_counter() - start) * 1000)
    return {"median": statistics.median(times), "p95": sorted(times)[int(len(times) * 0.95)]}


def run(size: Size) -> dict[str, Any]:
    """The whole bench on a server of its own."""
    home = servers.prepare_environment()
    try:
        with servers.running_postgres(home):
            os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
            import django
            from django.core.management import call_command

            django.setup()
            call_command("migrate", database="admin", verbosity=0)
            found = load(size)
            load_jobs(home, found, size)
            measured = measure(found, size)
            yardstick = measured.pop(YARDSTICK)
            return {"requests": measured, "yardstick": yardstick, "look": measure_look(size)}
    finally:
        servers.remove(home)


def report(size: Size, results: dict[str, Any]) -> str:
    """The section of docs/benchmarks.md."""
    rows = "\n".join(
        f"| {name} | {each['median']:.0f} ms | {each['p95']:.0f} ms | {each['queries']:.0f} | ≤ {_bar(name)} ms |"
        for name, each in results["requests"].items()
    )
    yardstick = results["yardstick"]
    look = results["look"]
    machine = f"{os.cpu_count()} processors ({platform.machine()}, Python {platform.python_version()})"
    return f"""{TITLE}

`python -m tests.bench.hands`: {size.catalog.tables:,} tables, {size.jobs:,} jobs and {size.people:,} people; {size.waiting:,}
requests that wait, {size.decided:,} decisions, {size.schedules:,} schedules of {size.runs} runs each, one for all
tables of a root with {size.runs} earlier runs on each of them and as many planned as there are tables, and {size.roots:,} roots, of which
10 hold all tables. Asked by people who may see 4 of those 10; the approvals by an approver of 4 roots who may see all, the roots
by an admin. Server time over {size.rounds} requests of each kind, the kinds taking turns; {machine}.
{YARDSTICK[:1].upper()}{YARDSTICK[1:]} took {yardstick["median"]:.0f} ms in between (p95 {yardstick["p95"]:.0f} ms).

| request | median | p95 | queries | bar (p95) |
|---|---|---|---|---|
{rows}

To find what there is to do about the planned runs, the dispatcher takes {look["median"]:.1f} ms (p95 {look["p95"]:.1f} ms).
"""


def _bar(name: str) -> int:
    return PALETTE_BAR_MS if name.startswith("palette") else LIST_BAR_MS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    size = TINY if parser.parse_args().tiny else FULL
    results = run(size)
    print(json.dumps(results, indent=1))
    if size == FULL:
        put_into(DOCUMENT, report(size, results))


if __name__ == "__main__":
    main()
