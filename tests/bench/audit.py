"""How fast the audit is written, sealed, verified, searched and exported.

`python -m tests.bench.audit` writes 3,000 events with 8 writers on a durable server, verifies and exports 100,000, and searches
10,000,000; it writes the section "The audit" of docs/benchmarks.md. `--tiny` does the same steps small.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from console.supervisor.home import Home
from console.supervisor.servers import postgres
from tests import servers
from tests.bench.document import DOCUMENT, put_into

TITLE = "## The audit"
WRITERS = 8
PER_SECOND = 100
DURABLE = ("max_connections=50", "shared_buffers=256MB")
LARGE = (
    *servers.QUICK[:3],
    "max_connections=50",
    "shared_buffers=1GB",
    "maintenance_work_mem=512MB",
    "max_wal_size=8GB",
)


@dataclass(frozen=True)
class Size:
    seconds: int  # of writing
    verified: int
    events: int
    rounds: int


FULL = Size(seconds=30, verified=100_000, events=10_000_000, rounds=60)
TINY = Size(seconds=2, verified=500, events=2_000, rounds=3)


@dataclass(frozen=True)
class Figure:
    what: str
    value: float
    bar: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"| {self.what} | {self.value:,.1f} {self.unit} | {sign} {self.bar:,.1f} {self.unit} |"


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


@contextmanager
def migrated(home: Home, options: tuple[str, ...]) -> Iterator[None]:
    """A server with Levee's tables in it."""
    with servers.running_postgres(home, options):
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", database="admin", verbosity=0)
        servers.set_trigger(home, "jobs_job", "job_begins", on=False)  # jobs are entered in any state
        yield
        connections.close_all()


def fdatasync_ms(place: Path) -> float:
    """The disk's own p95 for making 8 KiB durable, as one commit of the log does."""
    times = []
    with open(place / "probe", "wb") as file:
        for _ in range(300):
            file.write(os.urandom(8192))
            file.flush()
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - started) * 1000)
    return p95(times)


def appending(home: Home, size: Size) -> list[Figure]:
    """100 events a second from 8 writers, while the keeper seals and signs."""
    from django.db import connection

    from console.audit.models import Event
    from jobs.evidence.audit_loops import running

    probe = fdatasync_ms(home.path)
    times: list[float] = []
    stop = threading.Event()
    with running(stop):
        writers = [threading.Thread(target=_write, args=(times, size.seconds, number)) for number in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        time.sleep(2)
        stop.set()
    with connection.cursor() as cursor:
        cursor.execute(
            "select extract(epoch from max(s.sealed_at - e.at)) from audit.seal s join audit.event e on e.id = s.event"
        )
        lag = float(cursor.fetchone()[0])
        cursor.execute("select count(*) from audit.pending")
        assert cursor.fetchone()[0] == 0
    assert Event.objects.filter(action="table.change").count() == len(times)
    probe = max(probe, fdatasync_ms(home.path))
    return [
        Figure(
            f"append at {PER_SECOND} events/s, {WRITERS} writers, p95 (disk's fdatasync p95 {probe:.1f} ms)",
            p95(times),
            probe + 3,
            "ms",
        ),
        Figure("an event sealed after, at most", lag, 2, "s"),
    ]


def _write(times: list[float], seconds: int, number: int) -> None:
    from django.db import connection, transaction

    from console.audit.actions import Action, ObjectKind
    from console.audit.actor import Actor
    from console.audit.services import record

    actor = Actor.system(f"writer {number}")
    pause = WRITERS / PER_SECOND
    connection.ensure_connection()
    begin = time.monotonic() + pause * number / WRITERS
    for turn in range(int(seconds / pause)):
        time.sleep(max(0.0, begin + turn * pause - time.monotonic()))
        started = time.perf_counter()
        with transaction.atomic():
            record(actor, Action.TABLE_CHANGE, ObjectKind.PATH, turn, f"path {turn}", reason="a bench writes")
        times.append((time.perf_counter() - started) * 1000)
    connection.close()


MADE = """
insert into audit.event (id, at, actor_kind, actor_id, actor_name, action, object_kind, object_id, object_name, outcome, reason, job,
    table_id, digest, hash)
select gen_random_uuid(), now() - (%(count)s - n) * interval '3 s', 'person', person, 'person' || who,
    (array['job.request','job.start','job.end','table.sync','table.read_rows','session.sign_in','job.approve','audit.read'])[1 + n %% 8],
    case when n %% 8 in (5, 7) then 'person' when n %% 8 in (3, 4) then 'table' else 'job' end,
    case when n %% 8 in (5, 7) then person::text when n %% 8 in (3, 4) then tbl::text else job::text end,
    case when n %% 8 in (5, 7) then 'person' || who when n %% 8 in (3, 4) then 'lake/table_' || place
        else 'delete /lake/table_' || place end,
    case when n %% 50 = 13 then 'refused' when n %% 100 = 7 then 'failed' else 'allowed' end,
    'ticket ' || n %% 100000 || ' asked for by team' || n %% 40 || ' because of ' ||
        (array['retention','gdpr','a mistake','quality'])[1 + n %% 4],
    case when n %% 8 in (3, 4, 5, 7) then null else job end, case when n %% 8 in (5, 7) then null else tbl end, null, ''
from generate_series(1, %(count)s) n,
    lateral (select (random() * random() * 200)::int as who, (random() * random() * 10000)::int as place, n as same) r,
    lateral (select md5('person' || who)::uuid as person, md5('table' || place)::uuid as tbl, md5('job' || n / 4)::uuid as job) ids
"""


def verifying(home: Home, size: Size) -> list[Figure]:
    """100,000 sealed events with a head every 1,000: verified whole, and exported whole."""
    from console.audit.integrity import chain, heads, verification
    from console.audit.models import Seal
    from tests.factories import person_with

    with postgres.connect(home) as connection:
        connection.execute(MADE, {"count": size.verified})
    while chain._seal(1_000):
        last = Seal.objects.latest("sequence")
        heads.sign(last.sequence, last.hash)
    with postgres.connect(home) as connection:
        connection.execute("analyze audit.event, audit.seal")  # as autovacuum does by itself
    started = time.perf_counter()
    run = verification.verify("bench")
    seconds = time.perf_counter() - started
    assert (run.problem_count, run.checked >= size.verified) == (0, True), run.problems[:3]
    figures = [Figure(f"verify {run.checked:,} events", seconds, 5, "s")]
    for kind in ("jsonl", "csv"):
        rate, grown = _export(person_with("auditor"), kind)
        figures.append(Figure(f"export as {kind}", rate, 20_000, "rows/s", at_least=True))
        figures.append(Figure(f"memory grown by the export as {kind}", grown, 50, "MiB"))
    return figures


def _export(person: Any, kind: str) -> tuple[float, float]:
    from console.audit.export import export
    from console.audit.queries import EventFilter

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, rows = time.perf_counter(), 0
    for piece in export(person, EventFilter(), kind):
        rows += piece.count("\n")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return rows / (time.perf_counter() - started), grown / 1024


def load(home: Home, size: Size) -> None:
    """Ten million events by one statement: the triggers would chain what is only searched, and indexes are built after."""
    with postgres.connect(home) as connection:
        for trigger in ("seal_row", "await_seal"):
            connection.execute(f"alter table audit.event disable trigger {trigger}".encode())
        found = connection.execute(
            "select indexname, indexdef from pg_indexes where schemaname = 'audit' and tablename = 'event' and indexname <> 'event_pkey'"
        ).fetchall()
        for name, _ in found:
            connection.execute(f"drop index audit.{name}".encode())
        connection.execute(MADE, {"count": size.events})
        connection.execute(
            "insert into audit.seal (sequence, event, previous, hash) select row_number() over (order by at), id, '', '' from audit.event"
        )
        for _, definition in found:
            connection.execute(definition.encode())
        for trigger in ("seal_row", "await_seal"):
            connection.execute(f"alter table audit.event enable always trigger {trigger}".encode())
        connection.execute("vacuum analyze audit.event")
        connection.execute("vacuum analyze audit.seal")


def addresses(size: Size) -> dict[str, Callable[[int], dict[str, str]]]:
    """Name → the query of the nth request of its kind."""

    def named(kind: str, place: int) -> str:
        return str(uuid.UUID(hashlib.md5(f"{kind}{place}".encode(), usedforsecurity=False).hexdigest()))

    return {
        "everything": lambda n: {},
        "person": lambda n: {"actor": named("person", n * 7 % 200)},
        "action": lambda n: {"action": ("job.request", "session.sign_in", "audit.read", "job.approve")[n % 4]},
        "outcome": lambda n: {"outcome": ("refused", "failed", "allowed")[n % 3]},
        "object": lambda n: {"object": f"table:{named('table', n * 131 % 10_000)}"},
        "object by name": lambda n: {"object": f"lake/table_{n * 17 % 10_000}"},
        "table": lambda n: {"table": named("table", n * 131 % 10_000)},
        "job": lambda n: {"job": named("job", n * 9973 % max(1, size.events // 4))},
        "words of the reason": lambda n: {
            "q": (f"ticket {n * 7919 % 100_000}", f"team{n % 40}", "gdpr", "a mistake")[n % 4]
        },
    }


def searching(home: Home, size: Size) -> list[Figure]:
    """Each filter alone and with time, first page and deep, as an auditor over the API; reading is recorded each time."""
    from datetime import timedelta

    from django.utils import timezone

    from tests.clients import caller

    load(home, size)
    auditor = caller("auditor")
    now, span = timezone.now(), size.events * 3
    figures = []
    for name, query in addresses(size).items():
        alone, timed, deep = [], [], []
        for turn in range(size.rounds + 1):
            since = now - timedelta(seconds=span * ((turn * 37) % 97) / 100 + 1)
            when = {"since": since.isoformat(), "until": (since + timedelta(seconds=span / 50)).isoformat()}
            first, milliseconds = _asked(auditor, query(turn))
            if turn == 0:
                continue
            alone.append(milliseconds)
            timed.append(_asked(auditor, query(turn) | when)[1])
            if first["next"]:
                deep.append(_asked(auditor, query(turn) | {"until": since.isoformat()})[1])
        bar = 300.0 if name.startswith("words") else 50.0
        for kind, times in (("", alone), (" and a time", timed), (", deep", deep)):
            if times:
                figures.append(
                    Figure(f"filter: {name}{kind}, p95 (median {statistics.median(times):.0f})", p95(times), bar, "ms")
                )
    return figures


def _asked(auditor: Any, query: dict[str, str]) -> tuple[Any, float]:
    started = time.perf_counter()
    answer = auditor.get("/audit", **query)
    milliseconds = (time.perf_counter() - started) * 1000
    assert answer.status_code == 200, answer.content[:500]
    return answer.json(), milliseconds


PARTS: dict[str, tuple[tuple[str, ...], Callable[[Home, Size], list[Figure]]]] = {
    "appending": (DURABLE, appending),
    "verifying": (LARGE, verifying),
    "searching": (LARGE, searching),
}


def run(size: Size, parts: list[str]) -> list[Figure]:
    """Each part in a home of its own: heads of one chain don't meet another."""
    figures: list[Figure] = []
    home = servers.prepare_environment()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    try:
        for name in parts:
            options, part = PARTS[name]
            with migrated(home, options):
                figures += part(home, size)
                with postgres.connect(home, "postgres") as connection:
                    from django.db import connections

                    connections.close_all()
                    connection.execute("drop database levee with (force)")
            (home.path / "audit" / "heads.jsonl").unlink(missing_ok=True)
    finally:
        servers.remove(home)
    return figures


def report(size: Size, figures: list[Figure]) -> str:
    """The section of the document."""
    rows = "\n".join(map(str, figures))
    how = f"`python -m tests.bench.audit`, {size.events:,} events searched; {os.cpu_count()} processors."
    return f"{TITLE}\n\n{how}\n\n| what | measured | bar |\n|---|---|---|\n{rows}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--events", type=int, help="fewer than the full size, for a look")
    parser.add_argument("--part", action="append", choices=list(PARTS))
    asked = parser.parse_args()
    size = TINY if asked.tiny else FULL
    size = replace(size, events=asked.events) if asked.events else size
    figures = run(size, asked.part or list(PARTS))
    section = report(size, figures)
    print(section)
    whole = size == FULL and not asked.part
    if whole:
        put_into(DOCUMENT, section)
    if not asked.tiny and not all(figure.holds for figure in figures):
        sys.exit("a bar was missed")


if __name__ == "__main__":
    main()
