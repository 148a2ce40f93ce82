"""No text and no file of a log ends the process that reads it: damaged ones are read in child processes, by the thousand.

`make soak` reads 20,000 of them, the tests 500. The damage is drawn from LEVEE_SOAK_SEED (printed), so that a failure can be played
again: the command is part of it.
"""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.soak.hostile import KINDS

pytestmark = pytest.mark.timeout(0)

FULL = os.environ.get("LEVEE_SOAK_SIZE") == "full"
CASES = 20_000 if FULL else 500
SEED = os.environ.get("LEVEE_SOAK_SEED") or (str(random.randrange(1 << 32)) if FULL else "1")
ENOUGH = 5


def test_whatever_is_damaged_is_read_or_named():
    print(f"LEVEE_SOAK_SEED={SEED}: {CASES} cases")
    each = -(-CASES // len(KINDS))
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda kind: failures(kind, each), KINDS))
    assert [failure for found in told for failure in found] == []


def failures(kind: str, count: int) -> list[str]:
    """What ended a process, and with which case. After each the next goes on, until there are enough of one kind."""
    found: list[str] = []
    first = 0
    while first < count and len(found) < ENOUGH:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.soak.hostile", SEED, kind, str(first), str(count)]
        child = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if child.returncode == 0:
            return found
        last = child.stdout.split()[-1] if child.stdout.split() else str(first)
        again = f"python -m tests.soak.hostile {SEED} {kind} {last} {int(last) + 1}"
        found.append(f"{again} ended with {child.returncode}: {child.stderr[-3000:]}")
        first = int(last) + 1
    return found
