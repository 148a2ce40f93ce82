"""No acknowledged event is lost when PostgreSQL is killed under load, and the chain goes on (F4)."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
KILLS, EVENTS = (4, 30_000) if FULL else (1, 600)


@pytest.mark.servers
@pytest.mark.timeout(3600 if FULL else 240)
def test_no_acknowledged_event_is_lost_when_postgresql_is_killed():
    """In a process of its own: it needs a server that is as durable as in real life."""
    command = [sys.executable, "-m", "tests.soak.audit", "--kills", str(KILLS), "--events", str(EVENTS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert f"{KILLS} kills: 0 of" in done.stdout
