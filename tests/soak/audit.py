"""Kills PostgreSQL under load and counts which acknowledged events are missing: `python -m tests.soak.audit --kills 4`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
import uuid
from pathlib import Path

import psycopg

from console.supervisor import provision
from console.supervisor.home import Home
from console.supervisor.servers import postgres
from tests import servers

WRITERS = 8
SEALED_S = 60
INSERT = (
    "insert into audit.event (id, actor_kind, actor_name, action, object_kind, object_id, object_name, outcome)"
    " values (%s, 'system', 'soak', 'table.change', 'path', '1', 'a path', 'allowed')"
)


class Load:
    """Writers that go on through every crash; `acknowledged` are the events whose commit the server confirmed."""

    def __init__(self, home: Home, events: int) -> None:
        self.home, self.wanted = home, events
        self.acknowledged: list[uuid.UUID] = []
        self.threads = [threading.Thread(target=self._write) for _ in range(WRITERS)]

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        while len(self.acknowledged) < count:
            time.sleep(0.02)

    def join(self) -> None:
        for thread in self.threads:
            thread.join()

    def _write(self) -> None:
        while len(self.acknowledged) < self.wanted:
            with contextlib.suppress(psycopg.Error), postgres.connect(self.home, user="levee_app") as connection:
                self._write_on(connection)
            time.sleep(0.05)

    def _write_on(self, connection: psycopg.Connection) -> None:
        while len(self.acknowledged) < self.wanted:
            made = uuid.uuid4()
            connection.execute(INSERT, [made])
            self.acknowledged.append(made)


def postmaster(home: Home) -> int:
    """The pid of the server."""
    return int((Path(home.record.pg_data) / "postmaster.pid").read_text().splitlines()[0])


def kill(home: Home) -> None:
    """Ends the server and all its processes at once, as the kernel would; returns when they are gone."""
    pid = postmaster(home)
    family = [pid, *(each for each in _pids() if _parent_of(each) == pid)]
    for each in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    os.waitpid(pid, 0)
    while any(_parent_of(each) is not None for each in family):
        time.sleep(0.01)


def _pids() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]


def _parent_of(pid: int) -> int | None:
    """The parent of a process that lives; a zombie has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[1])


def crash_and_go_on(home: Home, kills: int, events: int) -> int:
    """How many acknowledged events are missing after so many crashes under load. Prints what it found."""
    from django.core.management import call_command
    from django.db import connections

    from console.audit.integrity import verification
    from console.audit.models import Event
    from jobs.evidence.audit_loops import running

    stop = threading.Event()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_server(home))
        provision.provision(home)
        call_command("migrate", database="admin", verbosity=0)
        connections.close_all()
        load = Load(home, events)
        stack.enter_context(running(stop))
        load.start()
        for number in range(1, kills + 1):
            load.wait_for(events * number // (kills + 1))
            kill(home)
            stack.enter_context(_server(home))
        load.join()
        _wait_for_seals()
        stop.set()
        known = set(Event.objects.filter(actor_name="soak").values_list("pk", flat=True))
        missing = set(load.acknowledged) - known
        run = verification.verify("soak")
        print(f"{kills} kills: {len(missing)} of {len(load.acknowledged):,} acknowledged events lost")
        print(f"{run.checked:,} events verified, {run.problem_count} differences: {run.problems[:3]}")
        connections.close_all()
    return len(missing) + run.problem_count + (run.checked < len(load.acknowledged))


def _wait_for_seals() -> None:
    """Until what was committed is sealed, which takes two seconds unless the machine is busy."""
    from console.audit.models import Event

    until = time.monotonic() + SEALED_S
    while Event.objects.filter(seal=None).exists() and time.monotonic() < until:
        time.sleep(0.05)


def _server(home: Home) -> contextlib.AbstractContextManager[None]:
    """The home's server as a start would run it: durable."""
    return servers._running(home, "postgres", postgres.command(home), postgres.STOP_SIGNAL, postgres.answers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--events", type=int, default=600)
    asked = parser.parse_args()
    home = postgres.prepare(servers.prepare_environment())
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    import django

    django.setup()
    try:
        wrong = crash_and_go_on(home, asked.kills, asked.events)
    finally:
        servers.remove(home)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
