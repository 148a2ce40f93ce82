"""No acknowledged event is lost when PostgreSQL is killed under load (F4), and 500 tamperings are all found (F6)."""

import os
import subprocess
import sys

import pytest

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
KILLS, EVENTS = (4, 30_000) if FULL else (1, 600)


@pytest.mark.servers
@pytest.mark.timeout(3600 if FULL else 900)
def test_no_acknowledged_event_is_lost_when_postgresql_is_killed():
    """In a process of its own: it needs a server that is as durable as in real life."""
    command = [sys.executable, "-m", "tests.soak.audit", "--kills", str(KILLS), "--events", str(EVENTS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0
    assert f"{KILLS} kills: 0 of" in done.stdout


@pytest.mark.skipif(not FULL, reason="tests/audit runs the same with fewer rounds")
@pytest.mark.timeout(3600)
def test_every_one_of_500_tamperings_is_found_and_located():
    """The test of tests/audit at full size, in a process of its own: its rounds are read when it is imported."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/console/audit/integrity/test_verification.py",
        "-k",
        "every_random",
    ]
    assert subprocess.run(command).returncode == 0
